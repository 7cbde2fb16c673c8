"""Values in textbook form: text, LaTeX, aligned matrices."""
