"""Text as a model reads and writes it: tokens, vocabularies, language models, decoders, word vectors, words explained.

Imports data and forward_pass; recipes of text are made of it.
"""
