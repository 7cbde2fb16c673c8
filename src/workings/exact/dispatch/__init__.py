"""ATen operations on exact tensors: move, order, linear, elementwise, written out (`dispatch` has the order and its reason).

`rule` registers an operation with a rule of its own. Also here: `mode`, `exactify`, `substitute`. Imports tensor and what
tensor imports.
"""
