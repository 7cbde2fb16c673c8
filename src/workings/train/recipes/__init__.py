"""The recipes, one per file."""
