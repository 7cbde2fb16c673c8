"""A document as data: formulas with their places, findings, options. Imports nothing else of `check`."""
