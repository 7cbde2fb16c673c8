"""Weights to and from PyTorch and Hugging Face: tables of which parameter is which. Imports the models."""
