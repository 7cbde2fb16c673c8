"""Studies of descent and depth: learning rates, momentum, batches, residuals, norms, gradients through time."""
