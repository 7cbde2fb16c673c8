"""Formulas in three scripts: text, LaTeX, MathML. How an operation is written stands in its row
(`workings.trace.operations`); a script says what a fraction, a root or a bracket looks like. Imports write."""
