"""Exact numbers: the graph of values, their normal form, enclosures, proofs, signs, decimals.

From the bottom up: `value` (the graph), `functions` and `ball` (enclosures), `algebra` and `build` (normal forms),
`rational_form`, `identities` and `proof`, `simplest`, `refine`, `sign`, `rounding`. Imports no other room and no PyTorch;
how a value is written in a message is set by typeset.
"""
