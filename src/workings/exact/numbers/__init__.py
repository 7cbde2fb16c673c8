"""Exact numbers: values, their normal form, enclosures, proofs, reading text and floats."""
