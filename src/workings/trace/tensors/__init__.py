"""Tensors at one moment: copies, bits, how far two are apart. Imports formula."""
