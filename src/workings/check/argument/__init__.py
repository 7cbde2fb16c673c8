"""The argument of a document: contexts, chains of relations, the words around them, their roles, the values that hold where.

Imports `document`, `latex`, `value`. `Argument` is a document being read; `claims` decides what it says.
"""
