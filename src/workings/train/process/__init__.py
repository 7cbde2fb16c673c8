"""The process that trains: distribution, signals, random numbers, progress on the terminal. Imports the settings only."""
