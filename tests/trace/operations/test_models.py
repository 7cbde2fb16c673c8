"""What the models of transformers, timm and x-transformers call, and which rows there are: none of it is unknown.

The models are tiny and made from their configurations alone.
"""

import re
import warnings

import pytest
import torch
from torch.overrides import TorchFunctionMode

from tests.timm_here import timm
from workings.trace.operations import OPERATIONS

ASKED = (
    "shape dtype device ndim is_nested size dim is_floating_point __bool__ __contains__ _assert _set_grad_enabled".split()
)
WITHOUT_ROW = dict.fromkeys(ASKED, "asks about a tensor or a mode: no value is made") | {
    "histc": "counts how many tokens each expert of Mixtral gets",
    "_grouped_mm": "the products of all experts in one fused call that PyTorch keeps to itself",
}
TOKENS, PIXELS = torch.tensor([[1, 2, 3]]), torch.ones(1, 3, 32, 32)
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
TEXT = SIZES | {"vocab_size": 16, "max_position_embeddings": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
IMAGE = SIZES | {"image_size": 32, "patch_size": 16, "num_channels": 3}
PAIR = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
PAIR |= {"encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 16, "max_position_embeddings": 16}
PAIR |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
OLD = {"vocab_size": 16, "n_positions": 16, "n_embd": 16, "n_layer": 2, "n_head": 2, "bos_token_id": 1, "eos_token_id": 2}
TOWERS = {"text_config": TEXT, "vision_config": IMAGE}

READERS = "Bert Roberta Electra MPNet MegatronBert XLMRoberta Ernie ModernBert Phi3 GPTNeoX Falcon Mamba Rwkv".split()
GROUPED = "Llama Mistral Qwen2 Phi StableLm Cohere Olmo Olmo2 Mixtral Granite Starcoder2 Nemotron".split()
HEADS = "Qwen3 Gemma Gemma2 Glm Helium".split()
SPECIAL = {
    "Albert": TEXT | {"embedding_size": 16},
    "Deberta": TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "DebertaV2": TEXT | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
    "GPT2": OLD,
    "GPTJ": OLD | {"rotary_dim": 4},
    "Bloom": {"vocab_size": 16, "hidden_size": 16, "n_layer": 2, "n_head": 2},
    "OPT": TEXT | {"ffn_dim": 16, "word_embed_proj_dim": 16},
    "DistilBert": {
        "vocab_size": 16,
        "dim": 16,
        "hidden_dim": 16,
        "n_layers": 2,
        "n_heads": 2,
        "max_position_embeddings": 16,
    },
    "XLNet": {"vocab_size": 16, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 16},
}
SEEING = {
    **dict.fromkeys("ViT DeiT Beit Dinov2 ViTMAE".split(), IMAGE),
    "ConvNext": {"num_channels": 3, "hidden_sizes": [8] * 4, "depths": [1] * 4},
    "ResNet": {"num_channels": 3, "embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1]},
    "Swin": {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
    "Segformer": {
        "hidden_sizes": [8] * 4,
        "depths": [1] * 4,
        "num_attention_heads": [1, 1, 2, 2],
        "sr_ratios": [4, 2, 1, 1],
    },
}
TRANSLATING = {
    **dict.fromkeys("Bart MBart Pegasus Marian BlenderbotSmall".split(), PAIR),
    "T5": {"vocab_size": 16, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2},
}
HEARING = {
    "Whisper": (
        PAIR | {"num_mel_bins": 8, "max_source_positions": 8, "max_target_positions": 16},
        {"input_features": torch.ones(1, 8, 16), "decoder_input_ids": TOKENS},
    ),
    "Wav2Vec2": (
        TEXT
        | {"conv_dim": [8, 8], "conv_kernel": [4, 4], "conv_stride": [2, 2], "num_feat_extract_layers": 2}
        | {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0},
        {"input_values": torch.ones(1, 64)},
    ),
}
CONFIGURED = {
    **{name: (TEXT, {"input_ids": TOKENS}) for name in READERS},
    **{name: (TEXT | {"num_key_value_heads": 2}, {"input_ids": TOKENS}) for name in GROUPED},
    **{name: (TEXT | {"num_key_value_heads": 2, "head_dim": 8}, {"input_ids": TOKENS}) for name in HEADS},
    **{name: (config, {"input_ids": TOKENS}) for name, config in SPECIAL.items()},
    **{name: (config, {"pixel_values": PIXELS}) for name, config in SEEING.items()},
    **{name: (config, {"input_ids": TOKENS, "decoder_input_ids": TOKENS}) for name, config in TRANSLATING.items()},
    **{name: (TOWERS, {"input_ids": TOKENS, "pixel_values": PIXELS}) for name in ("CLIP", "Siglip")},
    **HEARING,
}
TIMM = """
vit_tiny_patch16_224 resnet18 convnext_atto mixer_s32_224 efficientnet_b0 mobilenetv3_small_050 regnetx_002
eva02_tiny_patch14_224 poolformer_s12 levit_128s resmlp_12_224 densenet121 ghostnet_050 edgenext_xx_small
""".split()
X_TRANSFORMERS = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True},
    "rms": {"use_rmsnorm": True, "ff_glu": True},
    "relative": {"rel_pos_bias": True},
    "normed": {"attn_qk_norm": True},
}
QUICK = ("GPT2", "Llama", "Bert", "ViT", "T5")


class Called(TorchFunctionMode):
    """The names of the functions that are called."""

    def __init__(self):
        super().__init__()
        self.names = set()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", repr(func))
        self.names.add(func.__self__.__name__ if name == "__get__" else name)  # x.T is a property
        return func(*args, **(kwargs or {}))


def unknown(model, *args, **inputs):
    """The functions that a model calls and that have no row."""
    with warnings.catch_warnings(), torch.no_grad(), Called() as called:
        warnings.simplefilter("ignore")
        model.eval()(*args, **inputs)
    assert len(called.names) > 5
    return {name for name in called.names if not {name, plain(name)} & OPERATIONS.names.keys()} - WITHOUT_ROW.keys()


def plain(name):
    """The name of a function that makes a new tensor, of one that changes a tensor: add of add_, __add__ of __iadd__."""
    return re.sub("^__i(?=.*__$)", "__", name) if name.endswith("__") else name.removesuffix("_")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in QUICK else pytest.mark.slow) for n in CONFIGURED])
def test_transformers(name):
    transformers = pytest.importorskip("transformers")
    transformers.utils.logging.set_verbosity_error()
    config, inputs = CONFIGURED[name]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**config))
    assert unknown(model, **inputs) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", TIMM)
def test_timm(name):
    try:
        model = timm().create_model(name, pretrained=False)
    except ImportError as missing:
        pytest.skip(str(missing))
    assert unknown(model, torch.zeros(1, *model.default_cfg["input_size"])) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", X_TRANSFORMERS)
def test_x_transformers(name):
    library = pytest.importorskip("x_transformers")
    kind = library.Encoder if name == "relative" else library.Decoder
    layers = kind(dim=16, depth=1, heads=2, **X_TRANSFORMERS[name])
    assert unknown(library.TransformerWrapper(num_tokens=9, max_seq_len=8, attn_layers=layers), TOKENS) == set()


def test_there_are_enough_models():
    assert len(CONFIGURED) >= 40
    assert len(CONFIGURED) + len(TIMM) + len(X_TRANSFORMERS) >= 60


def test_a_function_without_a_row_is_found():
    assert unknown(lambda_model(torch.linalg.svdvals), torch.eye(2)) == {"linalg_svdvals"}


def lambda_model(function):
    class Model(torch.nn.Module):
        def forward(self, x):
            for other in (torch.exp, torch.sin, torch.cos, torch.tanh, torch.sqrt):
                other(x)
            return function(x)

    return Model()
