"""ATen operations on exact tensors: move, order, linear, elementwise, written out. Imports tensor, typeset and numbers."""
