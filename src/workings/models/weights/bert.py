"""BERT (Devlin et al. 2019) as Hugging Face stores it: `BertModel.state_dict()`."""

from __future__ import annotations

from torch import Tensor

from workings.errors import WorkingsError
from workings.models.bert import Bert
from workings.models.weights.table import TRANSPOSED, Pair, State, layers, load, pairs, required_weights, save, under

MODEL = pairs(
    """
    encoder.embedding.E       embeddings.word_embeddings.weight
    encoder.embedding.P.table embeddings.position_embeddings.weight
    encoder.embedding.S       embeddings.token_type_embeddings.weight
    encoder.first_norm.gamma  embeddings.LayerNorm.weight
    encoder.first_norm.beta   embeddings.LayerNorm.bias
    W                         pooler.dense.weight
    b                         pooler.dense.bias
    """,
    transposed=("W",),
)
BLOCK = layers(
    """
    attention.W_QKV attention.b_QKV attention.self.query. attention.self.key. attention.self.value.
    attention.W_O   attention.b_O   attention.output.dense.
    norm_1.gamma    norm_1.beta     attention.output.LayerNorm.
    ffn.W_1         ffn.b_1         intermediate.dense.
    ffn.W_2         ffn.b_2         output.dense.
    norm_3.gamma    norm_3.beta     output.LayerNorm.
    """,
    TRANSPOSED,
)
_IGNORED = ("position_ids",)


def layout(depth: int) -> list[Pair]:
    blocks = [pair for i in range(depth) for pair in under(BLOCK, f"encoder.blocks.{i}.", f"encoder.layer.{i}.")]
    return [*MODEL, *blocks]


def from_bert(state: State, heads: int, eps: float = 1e-12) -> Bert:
    """BERT with these weights. All sizes but the number of heads can be seen in them. A prefix `bert.` is taken off."""
    state = {name.removeprefix("bert."): value for name, value in state.items()}
    if "embeddings.word_embeddings.weight" not in state:
        raise WorkingsError("These are no weights of BERT: there is no 'embeddings.word_embeddings.weight'.")
    tables = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type"))
    E, P, S, W_1 = required_weights(state, *tables, "encoder.layer.0.intermediate.dense.weight", axes=2)
    depth = len({name for name in state if name.endswith("intermediate.dense.weight")})
    model = Bert(len(E), E.shape[1], heads, depth, len(P), hidden=len(W_1), segments=len(S), eps=eps).to(E)
    load(model, state, layout(depth), _IGNORED)
    return model.eval()


def to_bert(model: Bert) -> dict[str, Tensor]:
    """The state dict for `BertModel`."""
    return save(model, layout(len(model.encoder.blocks)))
