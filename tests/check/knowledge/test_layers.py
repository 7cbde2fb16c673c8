"""Layers: listings of `nn.Sequential`, sizes and parameters in words, and listings that are run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.check.said import report, said
from workings.check.document.options import Options
from workings.check.extract import read_text
from workings.check.knowledge import running
from workings.check.knowledge.layers import Flow, Layer, after
from workings.check.run.checker import check_document

NET = """Each input is a 28×28 grayscale image.

```python
net = nn.Sequential(
    nn.Conv2d(1, 6, kernel_size=5),  # 24 × 24
    nn.ReLU(),
    nn.MaxPool2d(2),  # 12 × 12
    nn.Conv2d({channels}, 16, 3, padding=1){comma}
    nn.BatchNorm2d(16),
    nn.AvgPool2d((3, 3)),  # 4 × 4
    nn.Flatten(),
    nn.Linear({width}, 10),
)
```
"""


def net(channels=6, comma=",", width=16 * 4 * 4):
    return NET.format(channels=channels, comma=comma, width=width)


def test_a_listing_that_fits():
    assert said(net()) == []


def test_a_missing_comma():
    text = net(comma="")
    assert said(text) == ["8 listing: a comma behind this bracket"]
    [found] = report(text).findings
    assert text[found.start : found.end] == ")"
    assert text[found.end] == "\n"


def test_a_missing_comma_before_a_remark():
    text = net().replace("nn.MaxPool2d(2),  #", "nn.MaxPool2d(2)  #")
    assert said(text) == ["7 listing: a comma behind this bracket"]


def test_channels_that_do_not_fit():
    text = net(channels=8)
    assert said(text) == ["8 listing: 6"]
    [found] = report(text).findings
    assert text[found.start : found.end] == "8"
    assert found.why == "6 channels come from the layers before, and this layer is made for 8. Write 6."


def test_a_width_that_does_not_fit():
    text = net(width=400)
    assert said(text) == ["12 listing: 256 = 16 · 4 · 4"]
    [found] = report(text).findings
    assert text[found.start : found.end] == "400"
    assert found.why == "256 = 16 · 4 · 4 numbers come from the layers before, and this layer is made for 400. Write 256."


def test_without_the_size_of_the_input_only_channels_count():
    head = "Each input is a 28×28 grayscale image."
    assert said(net(width=400).replace(head, "A network:")) == []  # 400 = 16 · 5 · 5 for some other input
    assert said(net(width=401).replace(head, "A network:")) == ["12 listing: a multiple of 16"]


def test_two_sizes_of_inputs_decide_nothing():
    text = "Either 28×28 images or 32×32 images come in.\n\n" + net(width=400).partition("\n\n")[2]
    assert said(text) == []


STACKS = {
    "nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)": [],
    "nn.Linear(4, 8), nn.ReLU(), nn.Linear(6, 2)": ["2 listing: 8"],
    "nn.Linear(4, 8), Residual(), nn.Linear(6, 2)": [],  # what it makes is not known
    "nn.Linear(4, 8), nn.BatchNorm1d(9)": ["2 listing: 8"],
    "nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(6, 2)": ["2 listing: 8"],
    "*[nn.Linear(4, 8), nn.Linear(6, 2)]": ["2 listing: 8"],
    "nn.Linear(4, 2 * 4), nn.Linear(16 // 2, 2)": [],
    "nn.Linear(4, n), nn.Linear(7, 2)": [],
    "nn.Linear(*sizes), nn.Linear(7, 2)": [],
    "nn.Conv2d(3, 8, 3), nn.Conv2d(4, 8, 3)": ["2 listing: 8"],
    "nn.Conv2d(1, 8, 3), nn.Linear(4, 8)": [],  # of the last axis
    "nn.Embedding(9, 4), nn.Linear(4, 2)": [],
    "nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(9, 2)": ["2 listing: 8 = 8 · 1 · 1"],
    "nn.Conv2d(3, 8, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)": [],
    "nn.Linear(8, 16), nn.Flatten(), nn.Linear(48, 2)": [],  # of three vectors
    "nn.Linear(8, 16), nn.Flatten(), nn.Linear(40, 2)": ["2 listing: a multiple of 16"],
    "nn.Conv2d(3, 8, 3), nn.BatchNorm2d(9)": ["2 listing: 8"],
    "nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)": [],
    "nn.Linear(4, 8), nn.BatchNorm1d(8)": [],
    "nn.Conv1d(3, 8, 3), nn.BatchNorm1d(8), nn.Conv1d(4, 8, 3)": ["2 listing: 8"],
    "nn.LSTM(3, 8), nn.Linear(9, 2)": [],
}


@pytest.mark.parametrize("layers, findings", STACKS.items())
def test_stacks(layers, findings):
    assert said(f"```python\nnet = nn.Sequential({layers})\n```") == findings


def test_names_of_whole_numbers():
    text = "```python\nhidden = 8\nnet = nn.Sequential(nn.Linear(4, hidden), nn.Linear({}, 2))\n```"
    assert said(text.format("hidden")) == []
    assert said(text.format(9)) == ["3 listing: 8"]
    changed = text.replace("hidden = 8", "hidden = 8\nhidden += 1")
    assert said(changed.format(9)) == []


@pytest.mark.parametrize(
    "text", ["```python\nnn.Sequential(\n```", "```python\n>>> nn.Sequential(nn.Linear(1, 2) nn.X())\n```"]
)
def test_what_is_no_python_is_left_alone(text):
    assert said(text) == []


def test_a_window_larger_than_its_input():
    text = "The inputs are 6×6 images.\n\n```python\nnn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(3))\n```"
    assert said(text) == ["4 listing: a smaller window"]


@given(
    n=st.integers(8, 40),
    k=st.integers(1, 5),
    s=st.integers(1, 3),
    p=st.integers(0, 2),
    pooling=st.sampled_from(["MaxPool2d", "AvgPool2d", "Conv2d"]),
)
def test_sizes_against_torch(n, k, s, p, pooling):
    torch = pytest.importorskip("torch")
    p = min(p, k // 2)
    layer = Layer(pooling, {"in_channels": 2, "out_channels": 2, "kernel_size": k, "stride": s, "padding": p})
    made = {"Conv2d": lambda: torch.nn.Conv2d(2, 2, k, s, p)}.get(pooling, lambda: getattr(torch.nn, pooling)(k, s, p))()
    flow, misfit = after(layer, Flow(channels=2, size=(n, n)))
    assert misfit is None
    assert flow.size == made(torch.zeros(1, 2, n, n)).shape[2:]


def test_what_is_not_stated_gives_no_size():
    flow = Flow(2, (9, 9))
    assert after(Layer("MaxPool2d", {}), flow)[0].size is None
    assert after(Layer("MaxPool2d", {"kernel_size": 2, "stride": 0}), flow)[0].size is None
    assert after(Layer("MaxPool2d", {"kernel_size": 2, "ceil_mode": True}), flow)[0].size is None
    assert after(Layer("Conv2d", {"out_channels": 2, "kernel_size": 2, "padding": "same"}), flow)[0].size == (9, 9)
    assert after(Layer("Conv2d", {"out_channels": 2, "kernel_size": 2, "padding": "valid"}), flow)[0].size == (8, 8)
    assert after(Layer("Conv2d", {"out_channels": True, "kernel_size": 2}), flow)[0].channels is None


def test_transposed_sizes_against_torch():
    torch = pytest.importorskip("torch")
    options = {"in_channels": 2, "out_channels": 3, "kernel_size": 4, "stride": 2, "padding": 1, "output_padding": 1}
    flow, _ = after(Layer("ConvTranspose2d", options), Flow(2, (7, 9)))
    assert (flow.channels, flow.size) == (3, torch.nn.ConvTranspose2d(**options)(torch.zeros(1, 2, 7, 9)).shape[2:])


# ------------------------------------------------------------------------------------------- in words

CONV = "A convolutional layer with 16 filters of size 4×4, stride 1 and padding 1 takes an input of 7×7×8. "
WORDS = {
    CONV + "Its output is 6×6×16.": [],
    CONV + "Its output is $6 \\times 6 \\times 16$.": [],
    CONV + "Its output is 7×7×16.": [],  # padding that keeps the size is often meant
    CONV + "Its output is 5×5×16.": ["1 size: 6 × 6"],
    CONV + "Its output is $5 \\times 5 \\times 16$.": ["1 size: 6 × 6"],
    CONV.replace("7×7×8", "8×7×7") + "Its output is 16×6×6.": [],  # channels first
    CONV.replace("7×7×8", "8×7×7") + "Its output is 16×5×5.": ["1 size: 6 × 6"],
    CONV.replace("7×7×8", "8×7×7") + "It has 2064 parameters.": [],
    CONV + "After pooling the output is 3×3×16.": [],
    CONV + "It has 2064 parameters.": [],  # 16 (4 · 4 · 8 + 1)
    CONV + "It has 2,064 parameters.": [],
    CONV + "It has 2048 weights.": [],  # without biases
    CONV + "It has 2164 parameters.": ["1 size: 16 · (4 · 4 · 8 + 1) = 2064"],
    "With a $5 \\times 5$ kernel, stride 2 and no padding, a 32×32 image gives a feature map of 14×14.": [],
    "With a $5 \\times 5$ kernel, stride 2 and no padding, a 32×32 image gives a feature map of 15×15.": ["1 size: 14 × 14"],
    "With a $5 \\times 5$ kernel a 32×32 image gives a feature map of 15×15.": [],  # stride and padding are not said
    "The layer has 8 filters of size 5×5 on grayscale images, so it has 208 parameters.": [],
    "The layer has 8 filters of size 5×5 on RGB images, so it has 208 parameters.": ["1 size: 8 · (5 · 5 · 3 + 1) = 608"],
    "VGG stacks 3×3 filters of stride 1 and padding 1: an input of 224×224 has an output of 7×7×512.": [],
    "A linear layer with 144 inputs and 10 outputs has 1450 parameters.": [],
    "A linear layer with 144 inputs and 10 outputs has 1540 parameters.": ["1 size: 144 · 10 + 10 = 1450"],
    "Two linear layers with 144 inputs and 10 outputs have 2900 parameters.": [],
}


def test_the_arithmetic_is_told():
    [found] = report(CONV + "Its output is 5×5×16.").findings
    assert found.why == "⌊(7 + 2 · 1 − 4) / 1⌋ + 1 = 6."


@pytest.mark.parametrize("text, findings", WORDS.items())
def test_words(text, findings):
    assert said(text) == findings


# ------------------------------------------------------------------------------------------- listings that are run


def ran(*listings):
    text = "\n\n".join(f"```python\n{listing}\n```" for listing in listings)
    document = read_text(text, "page.md")
    found = check_document(document, Options(run_code=True)).findings
    return [f"{document.place(f.start).line} {f.level} {f.why}" for f in found]


def test_an_exception_is_told_at_its_line():
    assert ran("x = 1", "y = x + 1\nz = y / 0") == ["7 likely Running it ends with ZeroDivisionError: division by zero"]


def test_all_of_the_line_is_marked():
    text = "```python\nif True:\n    x = 1 / 0\n```"
    [found] = check_document(read_text(text, "page.md"), Options(run_code=True)).findings
    assert text[found.start : found.end] == "x = 1 / 0"


def test_the_others_run_without_the_one_that_raised():
    assert ran("x = 1 / 0", "y = [][1]", "print(2)") == [
        "2 likely Running it ends with ZeroDivisionError: division by zero",
        "6 likely Running it ends with IndexError: list index out of range",
    ]


def test_what_an_excerpt_leaves_out_is_no_mistake():
    assert ran("net = nn.Linear(1, 2)") == ran("import no_such_module") == ran("open('data.txt')") == []


def test_nothing_is_run_unless_asked(tmp_path):
    mark = tmp_path / "mark"
    text = f"```python\nopen({str(mark)!r}, 'w')\nx = 1 / 0\n```"
    assert said(text) == []
    assert not mark.exists()


def test_a_listing_that_does_not_end(monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 1)
    assert ran("while True:\n    pass") == ran("import time\ntime.sleep(3600)") == []


def test_what_raises_inside_a_library_is_told_at_the_line_that_called_it():
    assert ran("import json\n\n\njson.loads('{')")[0].startswith(
        "5 likely Running it ends with json.decoder.JSONDecodeError"
    )


def test_memory_is_limited():
    assert ran("x = bytearray(1 << 31)") == ["2 likely Running it ends with MemoryError"]


# ------------------------------------------------------------------------------------------- layers by name

LISTED = """Every input is a 32×32 grayscale image. The network has these layers:

- *Conv-1*: convolutional layer with 8 filters of size 5×5, stride 1 and padding 0.
- *Pool-1*: max pooling layer with a kernel size of 4×4, stride 4 and padding 0.
- *Conv-2*: convolutional layer with 16 filters of size 4×4, stride 1 and padding of 1.
- *Linear*: a linear layer.

"""
# 32 → 28 → 7 → 7 + 2 − 4 + 1 = 6


@pytest.mark.parametrize(
    "words, findings",
    {
        "The output of Conv-1 is 28×28×8.": [],
        "The output of layer *Pool-1*, is of size $7 \\times 7 \\times 8$.": [],
        "The output of Conv2 has the shape 16×6×6.": [],
        "The output of Conv-3 is 9×9×9.": [],
        "The output of Pool-1 is 14×14×8.": ["8 size: 7 × 7 × 8"],
        "The output of layer *Conv-2*, is of size $5 \\times 5 \\times 16$.": ["8 size: 6 × 6 × 16"],
        "The output of Conv-2 is 6×6×8.": ["8 size: 6 × 6 × 16"],
    }.items(),
)
def test_layers_by_name(words, findings):
    assert said(LISTED + words) == findings


def test_layers_by_name_without_a_size_of_the_input():
    text = LISTED.replace("32×32 grayscale", "grayscale") + "The output of Pool-1 is 14×14×8."
    assert said(text) == []


def test_listings_in_latex_and_notebooks():
    code = "net = nn.Sequential(\n    nn.Linear(4, 8),\n    nn.Linear(6, 2),\n)\n"
    latex = (
        f"\\begin{{document}}\nText.\n\\begin{{lstlisting}}[language=Python]\n{code}\\end{{lstlisting}}\n\\end{{document}}\n"
    )
    assert said(latex, name="page.tex") == ["6 listing: 8"]
    cells = [{"cell_type": "markdown", "metadata": {}, "source": "Text."}]
    cells += [{"cell_type": "code", "metadata": {}, "source": code, "outputs": [], "execution_count": None}]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    assert said(notebook, name="page.ipynb") == ["3 listing: 8"]
    indented = "1. An item\n\n   ```python\n" + "".join(f"   {line}\n" for line in code.splitlines()) + "   ```\n"
    [found] = report(indented).findings
    assert indented[found.start : found.end] == "6"


def test_images_that_are_changed_before_they_go_in():
    listing = net(width=400).partition("\n\n")[2]  # 16 · 5 · 5 fits 32 × 32
    assert said("We train on MNIST.\n\n" + listing) == ["12 listing: 256 = 16 · 4 · 4"]
    assert said("We train on MNIST, with each image padded to a larger square.\n\n" + listing) == []
    assert said("We train on MNIST.\n\n" + listing.replace("net =", "t = transforms.Resize(32)\nnet =")) == []
    assert said("We train on MNIST.\n\n" + listing.replace("net =", "x = torch.randn(8, 1, 36, 36)\nnet =")) == []


def test_a_size_of_another_part_does_not_count():
    listing = net(width=400).partition("\n\n")[2]
    assert said("# One\nThe images are 28×28 images.\n\n# Two\n\n" + listing) == []
