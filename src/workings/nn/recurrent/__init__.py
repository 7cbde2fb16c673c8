"""Recurrence: the cells as equations, and layers with weights."""
