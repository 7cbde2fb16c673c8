"""The process that trains: several of them, signals, random numbers, compiling, progress on the terminal.

Imports the settings only, and knows nothing of models beyond `torch.nn.Module`.
"""
