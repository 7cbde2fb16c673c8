"""The training loop: `fit` and `train` start it, `Loop` turns, and around it gradients, optimizers, evaluation, writing.

Imports settings, task, process and run; it knows no recipe.
"""
