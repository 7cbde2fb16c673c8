"""Values in textbook form: `text`, `latex`, aligned matrices (`grid`).

`value_layout` decides what stands where, the writers put it into signs, `elision` says what stands for a formula too long
to print. Imports numbers.
"""
