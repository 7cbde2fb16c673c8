"""Studies of one attention: softmax and its scale, selection hard and soft, keys and queries that move."""
