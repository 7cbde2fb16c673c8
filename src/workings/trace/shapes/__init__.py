"""Sizes, parameters and multiply-adds layer by layer, and why shapes do not fit. Imports formula, tensors, code."""
