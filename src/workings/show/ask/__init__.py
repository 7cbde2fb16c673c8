"""Questions to a worked solution: a step by its address, why a cell has its value, where two runs part. Imports every other
room."""
