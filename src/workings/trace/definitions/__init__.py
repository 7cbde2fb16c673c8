"""Which written-out definition stands for which PyTorch function or module. Imports `workings.equations`, code, formula,
tensors."""
