"""The mathematics of each recipe, in a file of its name: batches, loss, figures, samples. What several share stands beside.

Imports PyTorch freely; the recipes put a `Task` together from it, inside their methods.
"""
