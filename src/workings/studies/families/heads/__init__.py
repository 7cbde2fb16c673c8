"""Studies of several values and several heads: projections, averages, spread, counts, ablation."""
