"""The models of the course, one per file."""

from typing import Any

from workings.lazy import lazy

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
        "counts": "attention_cost recurrent_cost",
        "decoding": "beam greedy next_token_probabilities sample",
        "dedupe": "DedupeDecoder",
        "discrete": "bayes derivation evidence",
        "kneser_ney": "KneserNey kneser_ney",
        "language_model": "LanguageModel",
        "logistic": "separation",
        "mlp": "MLP check_gradient gradients",
        "scalar_rnn": "ScalarRNN bptt linear_rnn linear_rnn_loss",
        "transformer": "Decoder Encoder EncoderDecoder",
        "vae": "VAE",
        "vectors": "WordVectors",
        "vit": "ViT",
        "weights": "block_from_torch block_to_torch",
        "weights_bert": "from_bert to_bert",
        "weights_gpt2": "from_gpt2 to_gpt2",
        "weights_vit": "from_vit to_vit",
    },
)


def __getattr__(name: str) -> Any:  # for type checkers: the names above are there
    raise AttributeError(name)
