"""One printer per output: text, LaTeX, Markdown, HTML, JSON, the table of shapes. Imports outline and everything before
it."""
