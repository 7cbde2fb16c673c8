"""Data sets by name, fetched once with the user's own package client and checked, and files of one's own.

Imports no other room: it gives texts, pairs, pictures and labels, not batches.
"""
