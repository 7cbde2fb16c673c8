"""The author's code, read and rewritten, not run: statements, names, effects. Imports formula and tensors."""
