"""What a document claims, and whether it is so: equations between values, restated names, identities, sizes, tables.

Imports `argument` and the rooms below it. `Numbers` reads the lines in order, `Decider` decides.
"""
