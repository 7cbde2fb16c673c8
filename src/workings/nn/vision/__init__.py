"""Images: convolution and pooling, their sizes, patches as tokens."""
