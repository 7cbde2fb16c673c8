"""Printers: the same results as text for a terminal, JSON, CSV, a page of HTML and SARIF. Imports document and latex."""
