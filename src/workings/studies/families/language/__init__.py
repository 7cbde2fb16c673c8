"""Studies of language: perplexity and its units, passages, preprocessing, what a classifier of reviews sees."""
