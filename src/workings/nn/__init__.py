"""The layers of the course, one family of equations per file."""
