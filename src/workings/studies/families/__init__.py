"""The studies of the course, a room for each subject, a file for each family of claims."""
