"""A run on disk: `Run` is its folder; checkpoints, figures, the lock, the report. Reading one runs no code.

Imports settings, task and process.
"""
