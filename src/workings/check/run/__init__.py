"""Checking files: one document, many in parallel, cached, watched. Imports every other room but report."""
