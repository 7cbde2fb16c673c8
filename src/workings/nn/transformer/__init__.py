"""What a Transformer is made of: attention, heads, masks, positions, caches, feed-forward networks, blocks."""
