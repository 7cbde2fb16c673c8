"""Printers: the same results as text for a terminal, JSON, a page of HTML and SARIF. Imports document only."""
