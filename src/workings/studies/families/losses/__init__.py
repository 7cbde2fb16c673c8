"""Studies of losses: contrastive ones, calibration, separable data, the penalty on the largest weight."""
