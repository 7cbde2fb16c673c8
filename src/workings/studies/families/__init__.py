"""The studies of the course, one file for each family of claims."""
