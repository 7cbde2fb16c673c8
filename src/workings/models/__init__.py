"""The models of the course, one per file."""

from typing import Any

from workings.lazy import lazy
from workings.own_code import mark_readable

mark_readable(__path__)

__all__ = lazy(
    __name__,
    {
        "autoencoder": "AutoEncoder principal_angle reconstruction_error",
        "averaging": "DeepAveraging",
        "bert": "Bert",
        "bigram": "NeuralBigram",
        "character": "CharacterModel",
        "clip": "CLIP SigLIP",
        "cnn": "StreetDigits digits_cnn fully_convolutional",
        "decoding.search": "beam greedy next_token_probabilities sample",
        "kneser_ney": "KneserNey kneser_ney",
        "language_model": "LanguageModel",
        "mlp": "MLP check_gradient gradients",
        "transformer": "Decoder Encoder EncoderDecoder",
        "vae": "VAE",
        "vectors": "WordVectors",
        "vit": "ViT",
        "weights.bert": "from_bert to_bert",
        "weights.gpt2": "from_gpt2 to_gpt2",
        "weights.table": "block_from_torch block_to_torch",
        "weights.vit": "from_vit to_vit",
    },
)


def __getattr__(name: str) -> Any:  # for type checkers: the names above are there
    raise AttributeError(name)
