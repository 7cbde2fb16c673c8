"""Formulas in every notation: text, LaTeX, MathML. Imports write."""
