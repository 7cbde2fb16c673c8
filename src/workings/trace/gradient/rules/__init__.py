"""Rules of differentiation, one family per file, in the letters of the statement. Imports formula and tensors."""
