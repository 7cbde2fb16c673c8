"""The version of this library, apart from the front door, so that every floor can say it."""

__version__ = "0.1.0"
