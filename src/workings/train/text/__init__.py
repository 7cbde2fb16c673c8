"""Text as a model reads it: tokens, vocabularies, language models on any text. Imports loop, run, data."""
