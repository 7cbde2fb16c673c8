"""LaTeX mathematics → syntax tree, total or refusing: tokens, groups, scripts, environments. Imports nothing else of
`check`."""
