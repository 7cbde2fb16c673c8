"""Normalisation: over the entries of a token, over a batch."""
