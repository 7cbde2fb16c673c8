"""A run on disk: settings, metrics, checkpoints, lock, report. Imports process and the settings."""
