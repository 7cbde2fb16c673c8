"""`optimizer.step()` as steps. Imports code, formula, tensors."""
