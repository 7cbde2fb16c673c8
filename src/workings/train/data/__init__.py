"""Data: packages that the user's own client brings, and files that the user has."""
