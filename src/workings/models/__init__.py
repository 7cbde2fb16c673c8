"""The models of the course, one per file."""
