"""Text and floats → values: the parser, and the numbers people meant by their floats. Imports numbers."""
