"""Arguments of the command line as values: numbers, matrices, files, functions by name. Imports no verb."""
