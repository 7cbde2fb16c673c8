"""What every page shares: the document around it, its font for mathematics, the colours of both themes."""
