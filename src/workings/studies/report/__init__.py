"""The forms of a result: text, Markdown, LaTeX, a page, JSON; and the book of all."""
