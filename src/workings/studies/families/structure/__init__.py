"""Studies of what attention can be: equivariance, positions, constructions, windows, patches, cost, streaming."""
