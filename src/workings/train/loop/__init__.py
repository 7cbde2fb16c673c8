"""The training loop and what it is made of. Imports run, process and the settings."""
