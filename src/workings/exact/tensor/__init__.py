"""`ExactTensor` itself: the arena of values, what results rest on, how tensors are made, saved and compared. Imports typeset
and numbers."""
