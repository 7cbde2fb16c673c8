"""Check: find the wrong line in a worked solution."""
