"""Conformance: PyTorch programs run in float64 and on exact tensors, and compared."""
