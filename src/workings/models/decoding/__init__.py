"""From a model of the next token to a sequence, and the lean steps that make it fast. Imports the models."""
