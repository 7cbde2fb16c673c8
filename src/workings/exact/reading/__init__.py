"""Text and floats → values: `parse` for what is written, `recover` for the numbers people meant by their floats.

Imports numbers.
"""
