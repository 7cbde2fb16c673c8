"""The mathematics of a statement as a tree: read from Python, simplified, computed again.

`tree` has the nodes, `from_python` makes them of Python's own syntax tree, `targets` of what stands before an equals sign;
`arguments` computes indices, sizes and options, `evaluate` whole formulas; `expression` is the one reader of Python that
runs nothing. Imports no other room."""
