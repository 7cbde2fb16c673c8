"""The mathematics of a statement as a tree: read from Python, simplified, computed again. Imports no other room."""
