"""`ExactTensor` itself: the arena of its values, how tensors are made, lifted, saved, shown and compared.

What PyTorch asks of a tensor is answered in dispatch, which sets the hooks in `exact_tensor`. Imports numbers, typeset and
reading.
"""
