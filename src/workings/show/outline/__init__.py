"""What of a trace is shown, in which order and how deep; a step as an equation. Imports value, formula, write."""
