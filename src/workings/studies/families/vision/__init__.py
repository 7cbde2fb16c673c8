"""Studies of pictures: sizes and counts of convolutions, pooling, house numbers, data size."""
