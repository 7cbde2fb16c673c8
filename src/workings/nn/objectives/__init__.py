"""What is minimised or reported: losses, contrastive and variational objectives, perplexity."""
