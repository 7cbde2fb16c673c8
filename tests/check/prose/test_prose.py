"""Claims in words: each is found in several phrasings, and what is true, denied, asked, quoted or doubted stays silent."""

import importlib
import re

import pytest

from tests.check.said import report
from workings.check.argument.argument import Argument
from workings.check.extract import read_text
from workings.check.prose import claims_in_prose
from workings.check.prose.sentences import plain, sentences
from workings.check.prose.table import claims, regular_expression
from workings.cli.systems import catalogue
from workings.studies.index import entry_of

CLAIMS = {claim.id: claim for claim in claims()}

SAID = {
    "attention-invariant": [
        "Because self-attention is permutation-invariant, we add a code for the place of each word.",
        "The Transformer encoder is, by design, invariant to permutations of the input tokens.",
        "An attention layer is invariant under any reordering of its inputs.",
        "This follows from the permutation invariance of self-attention.",
        "We do not sort the words, since **self-attention** is *permutation\ninvariant*.",
    ],
    "attention-knows-order": [
        "Even without positional encodings the Transformer still knows the order of the words.",
        "Self-attention inherently captures the order of the tokens.",
        "Without any positions, an attention model can distinguish sentences that differ in word order.",
    ],
    "temperature-is-beta": [
        r"We use a high temperature (i.e. a large $\beta$) to pick one item.",
        r"A small temperature corresponds to a small value of $\beta$.",
        "A larger temperature means a larger β.",
    ],
    "high-temperature-sharpens": [
        "Increasing the temperature makes the softmax sharper.",
        "A high sampling temperature gives a more peaked distribution.",
        "When the temperature is increased, the distribution becomes one-hot.",
        r"As the temperature $T$ tends to infinity, we obtain the argmax.",
        "A higher temperature sharpens the distribution.",
    ],
    "low-temperature-flattens": [
        "Lowering the temperature makes the distribution more uniform.",
        "A low temperature leads to a flatter softmax.",
        r"As the temperature goes to zero, the weights become uniform.",
        "A lower temperature flattens the weights.",
    ],
    "key-noise-averages-out": [
        "If we perturb one key with zero-mean noise, the expected change of the output is zero.",
        "Adding zero-mean noise to a key leaves the output $H$ unchanged.",
        "The noise on the query is zero-mean, so the output stays the same on average.",
        "Let noise be added to a key. As it has mean zero, the noise does not change the expected output.",
    ],
    "key-moves-one-row": [
        "Moving one key affects only one row of the attention matrix.",
        "When a key is perturbed, the key changes exactly one column of the attention weights.",
        "We perturb a single key. This changes the attention weights in one row of the matrix only.",
    ],
    "key-scaling-increases": [
        r"Scaling a key by $\alpha > 1$ increases its attention weight for all queries.",
        "Multiplying the key by two raises the attention weight it receives.",
        "We make a key longer by scaling it. The attention weight of the scaled key then increases.",
        "We scale one key. This increases all scores of that key by the factor two.",
        r"Let the key be multiplied by $c$. As $c \to \infty$, its attention weights tend to one: $a_{ij} \to 1$.",
    ],
    "softmax-exact-zero": [
        "The softmax assigns exactly zero to classes that are unlikely.",
        "For large scores the softmax output is exactly 1.",
    ],
    "softmax-shift": [
        "Adding a constant to all logits changes the softmax.",
        "Adding the same number to each score increases the probabilities.",
        "The softmax is not shift-invariant.",
    ],
    "argmax-learns-nothing": [
        "With argmax attention there is no gradient for any parameter of the model.",
        "With argmax nothing at all is learned.",
        r"Under hard attention the matrix $W_V$ receives no gradient.",
    ],
    "duplicated-head": [
        r"We set $W_O$ to the identity. Duplicating the head leaves the output unchanged.",
        r"The heads are concatenated. A second, identical head has no effect.",
        "The projection of the two heads is the identity. We have two copies of the matrix, so the result is the same.",
    ],
    "heads-times-parameters": [
        "Multi-head attention has $h$ times as many parameters as one head.",
        "The number of parameters grows linearly with the number of heads.",
        "More heads means more parameters.",
    ],
    "generation-in-parallel": [
        "Transformers can be parallelised during training and inference.",
        "A decoder generates all tokens in parallel at test time.",
        "In a Transformer, during generation all output tokens are computed simultaneously.",
        "The Transformer runs in parallel in both inference and training.",
    ],
    "attention-linear-cost": [
        "Self-attention scales linearly with the sequence length.",
        "The complexity of the attention mechanism is linear in the length of the sequence.",
        r"Attention takes $O(n)$ time in the number of tokens.",
    ],
    "mask-lower": [
        r"After the mask $a_{ij} = 0$ for all $i > j$. So the attention matrix is lower triangular.",
        r"Here $A_{k,q} = 0$ whenever $k > q$, hence the matrix $A$ is lower-triangular.",
    ],
    "mask-upper": [
        r"After the mask $a_{ij} = 0$ for all $j > i$. So the attention matrix is upper triangular.",
        r"Here $A_{q,k} = 0$ whenever $q < k$, hence the weights are upper-triangular.",
    ],
    "batch-norm-test": [
        "Batch normalization at test time uses the batch statistics.",
        "During inference batch norm normalises with the mean and variance of the current batch.",
        "Batch norm computes the mean of the mini-batch both in training and at test time.",
    ],
    "layer-norm-batch": [
        "Layer normalization normalises over the batch dimension.",
        "Batch norm and layer norm work on the same axis.",
        "LayerNorm computes its mean across the mini-batch.",
    ],
    "dropout-test": [
        "Dropout is active at test time.",
        "At test time, dropout randomly removes units.",
        "Dropout is applied both during training and during inference.",
    ],
    "relu-differentiable": [
        "The ReLU is differentiable everywhere.",
        "ReLU is differentiable at zero, with slope one.",
        "ReLU is a smooth function.",
    ],
    "sigmoid-sums-to-one": [
        "With a sigmoid at each class the outputs sum to one.",
        "The sigmoid ensures that the class scores add up to 1.",
    ],
    "sigmoid-vanishing": [
        "The sigmoid activation solves the vanishing gradient problem.",
        "Vanishing gradients are avoided by using the sigmoid.",
    ],
    "cross-entropy-gradient-sign": [
        r"The gradient of the cross-entropy with respect to the logits is $y - \hat{y}$.",
        r"For the softmax the derivative of the cross-entropy is simply $\mathbf{y} - \hat{\mathbf{y}}$.",
        "The gradient of the softmax cross-entropy is y − ŷ.",
    ],
    "divergence-symmetric": [
        "The KL divergence is symmetric.",
        "The Kullback-Leibler divergence is a metric on distributions.",
        "Cross-entropy is symmetric in its arguments.",
    ],
    "elbo-upper": [
        r"The ELBO is an upper bound on the log-evidence $\log p(x)$.",
        "The evidence lower bound (ELBO) gives an upper bound for the likelihood.",
    ],
    "perplexity-base": [
        "The perplexity depends on the base of the logarithm.",
        "A different base of the logarithm changes the perplexity.",
    ],
    "pooling-parameters": [
        "A max-pooling layer has four learnable parameters.",
        "The weights of the max-pooling layer are learned.",
    ],
    "convolution-invariant": [
        "A convolution is translation-invariant.",
        "Convolutional layers are invariant to translations of the image.",
        "This uses the translation invariance of convolutions.",
    ],
    "one-by-one-field": [
        "Stacking 1x1 convolutions increases the receptive field.",
        r"The receptive field is enlarged by $1 \times 1$ convolutions.",
    ],
    "recurrent-positions": [
        "RNNs need positional encodings, too.",
        "Positional encodings are necessary for LSTMs.",
    ],
    "forget-gate": [
        "If the forget gate is zero, the cell keeps its state.",
        "A forget gate equal to one erases the memory.",
        "Setting the forget gate to $0$ preserves the memory cell.",
    ],
    "adam-stateless": [
        "Adam keeps no state between steps.",
        "The Adam optimizer is stateless.",
        "Adam needs the same memory as SGD.",
    ],
    "adam-bias": [
        "Without bias correction, the first step of Adam is the same.",
        "In Adam bias correction makes no difference at the first step.",
    ],
    "adam-weight-decay": [
        "In Adam, L2 regularization and weight decay are equivalent.",
        r"For Adam weight decay is the same as an $L_2$ penalty.",
        "An L2 penalty is the same as weight decay in Adam.",
    ],
}

SILENT = {
    "attention-invariant": [
        "Self-attention is permutation-equivariant.",
        "Self-attention followed by mean pooling is permutation-invariant.",
        "For a single query, attention is invariant to the order of the keys.",
        "Self-attention is not permutation-invariant.",
        "The set of outputs of self-attention is invariant under permutations.",
    ],
    "attention-knows-order": [
        "Without positional encodings the Transformer cannot know the order of the words.",
        "Without positions a causal attention model of two layers distinguishes some orders.",
        "Without positional encodings, attention loses the order of the tokens.",
        "Without positions, the model has no way to tell the order of the words apart in self-attention.",
    ],
    "temperature-is-beta": [
        r"A high temperature corresponds to a small $\beta$.",
        r"A small temperature (a large $\beta$) picks one item.",
        r"With $T = 1/\beta$, a large temperature means that $\beta$ is small.",
    ],
    "high-temperature-sharpens": [
        "A high temperature flattens the distribution, a low temperature makes it sharper.",
        "Increasing the temperature makes the softmax less sharp.",
        "A higher inverse temperature makes the softmax sharper.",
        "Raising the temperature does not make the softmax sharper.",
        "A higher temperature makes the text more random, while a lower one makes it deterministic.",
    ],
    "low-temperature-flattens": [
        "A low temperature sharpens the weights, a high one makes them uniform.",
        "Lowering the temperature makes the samples less random.",
        "Lowering the temperature of the softmax gives a sharper distribution.",
    ],
    "key-noise-averages-out": [
        "If we perturb a key with zero-mean noise, the expected change is zero to first order.",
        "Zero-mean noise on a value leaves the expected output unchanged; the keys stay.",
        "Zero-mean noise on a key changes the mean of the output.",
        "The weights are drawn with mean zero, and the noise is small.",
    ],
    "key-moves-one-row": [
        "Perturbing a key changes only one row of the scores, but all attention weights.",
        "Perturbing a query changes only one row of the attention matrix.",
        "We perturb a key first. Then we perturb a query; this changes the attention weights in one row of the matrix only.",
    ],
    "key-scaling-increases": [
        "Scaling a key by two increases its attention weight where its score is positive.",
        "Scaling a key multiplies its scores by two.",
        r"Scaling the scores by $1/\sqrt{d}$ keeps the weights of the keys in range.",
        "Scaling a key does not always increase its attention weight.",
    ],
    "softmax-exact-zero": [
        "The outputs of the softmax sum to exactly one.",
        r"With a score of $-\infty$ the softmax gives exactly zero.",
        "The softmax is never exactly zero.",
    ],
    "softmax-shift": [
        "Adding a constant to all logits does not change the softmax.",
        "Adding a constant to one logit changes the softmax.",
        "The softmax is invariant to adding a constant.",
    ],
    "argmax-learns-nothing": [
        "With argmax attention there is no gradient for the queries and the keys.",
        "With argmax the values are still learned.",
        r"The argmax passes no gradient to the scores, so $W_Q$ and $W_K$ stay.",
    ],
    "duplicated-head": [
        r"With $W_O$ the identity, duplicating the head does not leave the output unchanged.",
        r"The heads are concatenated. A second, identical head has no effect if each half of $W_O$ is halved.",
        "All heads have the same width, and their outputs are concatenated.",
    ],
    "heads-times-parameters": [
        "The number of parameters does not grow with the number of heads.",
        "If the head size is kept fixed, the number of parameters grows with the number of heads.",
        "Multi-head attention has as many parameters as one head of the same width.",
    ],
    "generation-in-parallel": [
        "Transformers can be parallelised during training, but they generate tokens one by one.",
        "A non-autoregressive decoder generates all tokens in parallel at test time.",
        "At test time, the prompt tokens are processed in parallel.",
        "During training all tokens of the Transformer are processed in parallel.",
    ],
    "attention-linear-cost": [
        "Self-attention scales quadratically with the sequence length.",
        "Linear attention scales linearly with the sequence length.",
        "The memory of flash attention is linear in the sequence length.",
        "This is a Transformer with an attention operation that scales linearly with the sequence length.",
        "In attention the longest path is constant rather than linear in the sequence length.",
    ],
    "mask-lower": [
        r"After the mask $a_{ij} = 0$ for all $j > i$. So the attention matrix is lower triangular.",
        "The attention matrix is lower triangular.",
        r"We set $M_{ij} = 0$ for $i > j$. The attention matrix is lower triangular.",
    ],
    "mask-upper": [
        r"After the mask $a_{ij} = 0$ for all $i > j$. So the attention matrix is upper triangular.",
        "The matrix of the mask is upper triangular.",
    ],
    "batch-norm-test": [
        "Batch norm uses batch statistics in training and running averages at test time.",
        "At test time batch norm does not use the statistics of the batch.",
        "Batch norm uses the mean of the batch during training.",
    ],
    "layer-norm-batch": [
        "Layer norm normalises over the features of each token, independently of the batch.",
        "Unlike batch norm, layer norm does not normalise over the batch.",
        "Batch norm normalises over the batch, layer norm over the width.",
        "Layer norm normalises across the features instead of across the batch.",
    ],
    "dropout-test": [
        "Dropout is used in training and turned off at test time.",
        "Monte Carlo dropout is active at test time.",
        "Dropout is not applied at test time.",
        "Dropout is active during training and disabled during inference.",
    ],
    "relu-differentiable": [
        "ReLU is differentiable everywhere except at zero.",
        "ReLU is not differentiable at zero.",
        "Softplus is smooth, and ReLU is its limit.",
        "PReLU is differentiable at zero if its slope is one.",
        "ReLU is differentiable almost everywhere.",
    ],
    "sigmoid-sums-to-one": [
        "Sigmoid outputs need not sum to one.",
        "The softmax, not the sigmoid, makes the outputs sum to one.",
    ],
    "sigmoid-vanishing": [
        "Replacing the sigmoid by ReLU avoids vanishing gradients.",
        "The sigmoid causes vanishing gradients.",
        "The sigmoid does not solve the vanishing gradient problem.",
    ],
    "cross-entropy-gradient-sign": [
        r"The gradient of the cross-entropy with respect to the logits is $\hat{y} - y$.",
        r"The negative gradient of the cross-entropy is $y - \hat{y}$.",
        r"The gradient of the cross-entropy is $-(y - \hat{y})$.",
    ],
    "divergence-symmetric": [
        "The KL divergence is not symmetric.",
        "The Jensen-Shannon divergence is a symmetrized KL divergence, and KL is no metric.",
        "A Gaussian is symmetric, so its KL divergence is easy.",
        "| KL divergence is a metric | False. The triangle inequality fails. |",
    ],
    "elbo-upper": [
        r"The ELBO is a lower bound on the log-evidence.",
        r"The negative ELBO is an upper bound on $-\log p(x)$.",
        r"The log-evidence is an upper bound of the ELBO.",
    ],
    "perplexity-base": [
        "The perplexity does not depend on the base of the logarithm.",
        "The entropy depends on the base of the logarithm, the perplexity is the same.",
    ],
    "pooling-parameters": [
        "A max-pooling layer has no learnable parameters.",
        "Max pooling has two hyper-parameters, size and stride.",
        "Max-pooling reduces the number of parameters of later layers.",
    ],
    "convolution-invariant": [
        "A convolution is translation-equivariant.",
        "A convolution followed by global pooling is translation-invariant.",
        "A convolution is not translation-invariant.",
    ],
    "one-by-one-field": [
        "1x1 convolutions do not increase the receptive field.",
        "Stacking 3x3 convolutions increases the receptive field.",
        "A layer of 1x1 convolutions mixes channels; the receptive field stays.",
    ],
    "recurrent-positions": [
        "Unlike RNNs, Transformers need positional encodings.",
        "RNNs do not need positional encodings.",
    ],
    "forget-gate": [
        "If the forget gate is one, the cell keeps its state.",
        "A forget gate of zero erases the memory.",
        "A forget gate of zero erases the state and one keeps it.",
        "The net learns to keep a thing (forget gate near 1) or to discard it (near 0).",
        "When the forget gate is near 1 and the input gate near 0, the cell is carried on.",
    ],
    "adam-stateless": [
        "Adam keeps two moments for each parameter.",
        "Plain SGD keeps no state, Adam does.",
    ],
    "adam-bias": [
        "Without bias correction, the first step of Adam is three times as long.",
        "Without bias correction the first step of Adam has the same direction.",
    ],
    "adam-weight-decay": [
        "For SGD, L2 regularization and weight decay are equivalent; for Adam they are not.",
        "In Adam, L2 regularization and weight decay are not equivalent.",
        "L2 regularization and weight decay are equivalent.",
        "L2 regularization and weight decay are equivalent for plain GD (but not for Adam).",
    ],
}


def found(text: str, name: str = "page.md") -> list[str]:
    """The ids of the claims that are noted in a text."""
    argument = Argument(read_text(text, name))
    claims_in_prose(argument)
    ids = {claim.truth: claim.id for claim in claims()}
    return [ids[note.truth] for note in argument.results.findings]


@pytest.mark.parametrize("id, text", [(id, text) for id, texts in SAID.items() for text in texts])
def test_said(id, text):
    assert found(text) == [id]
    assert found(f"Some words come first. {text} And some words follow.") == [id]
    assert found(text, "page.tex") == [id]


@pytest.mark.parametrize("text", [text for texts in SILENT.values() for text in texts])
def test_silent(text):
    assert found(text) == []


def test_every_claim_has_its_examples():
    assert CLAIMS.keys() == SAID.keys() == SILENT.keys()
    assert all(len(texts) >= 2 for texts in [*SAID.values(), *SILENT.values()])


CLAIM = "self-attention is permutation-invariant"


@pytest.mark.parametrize(
    "text",
    [
        f"It is not true that {CLAIM}.",
        f"It isn't the case that {CLAIM}.",
        f"One might think that {CLAIM}.",
        f"A common misconception: {CLAIM}.",
        f"There is a common misconception: it is held by many. In short: {CLAIM}? No.",
        f"True or false: {CLAIM}.",
        f"Is it so that {CLAIM}?",
        f"Decide whether {CLAIM}.",
        f"The book says “{CLAIM}” on page 3.",
        f"The book says «{CLAIM}» on page 3.",
        f'The book says "{CLAIM}" on page 3.',
        f"{CLAIM.capitalize()}. This is wrong.",
        f"{CLAIM.capitalize()}. False!",
        f"- [ ] {CLAIM}\n- [x] it is equivariant",
        f"(a) {CLAIM}\n(b) it is equivariant",
        f"A. {CLAIM}\nB. it is equivariant",
        f"☐ {CLAIM}",
        f"\\choice {CLAIM}",
        f"Which of the following statements are true?\n\n- {CLAIM}\n- it is equivariant",
        f"If {CLAIM.replace('is', 'were')}, the outputs would agree.",
        f"It is often said that {CLAIM}.",
        f"We cannot conclude that {CLAIM}.",
        f"What is wrong here? {CLAIM.capitalize()}.",
        f"Three common mistakes:\n- {CLAIM}\n- attention is a sum",
        f"Some students think:\n\n> {CLAIM}",
        f"## Misconceptions\n\n- {CLAIM}",
        f"```\n{CLAIM}\n```",
    ],
)
def test_what_is_not_asserted(text):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"We do not need more layers, since {CLAIM}.",
        f"- {CLAIM}",
        f"1. {CLAIM}",
        f"\\item {CLAIM}",
        f"Is the order seen? No: {CLAIM}.",
        f"The “order” is lost, as {CLAIM}.",
        f"## Positions\n\n- {CLAIM}",
        f"Three properties:\n- {CLAIM}\n- attention is a sum",
        f"A mistake was made. It was found:\n\nWords.\n\nNow, {CLAIM}.",
        f"Which of the following is true?\n\nThis is an answer: {CLAIM}.",
        "Self-attention is\npermutation-invariant, see e.g. Fig. 3.",
        r"Self-attention is \emph{permutation-invariant}.",
        "Self-attention is **permutation invariant**.",
    ],
)
def test_what_is_asserted(text):
    assert found(text) == ["attention-invariant"]


def test_the_note():
    text = "Hello.\n\nNow we see that  **self-attention**\nis permutation-invariant. So we go on.\n"
    [note] = report(text).findings
    assert (note.level, note.kind) == ("note", "prose")
    assert text[note.start : note.end] == "self-attention**\nis permutation-invariant"
    assert note.says == "self-attention** is permutation-invariant"
    assert note.truth == "Self-attention is equivariant: permuted tokens give equally permuted outputs."
    assert note.why == (
        "Invariant would mean that the outputs do not change at all. That holds only after pooling them, for example by "
        "their mean. To see it: workings study equivariance (B8, workings.nn.Block)."
    )


def test_a_topic_counts_within_its_part_only():
    claim = "The perturbation is zero-mean, so the expected change is zero."
    assert found(f"We move one key. {claim}") == ["key-noise-averages-out"]
    assert found(f"We move one key.\n\n{claim}") == ["key-noise-averages-out"]
    assert found(f"# One\nWe move one key.\n\n# Two\n{claim}") == []
    assert found(f"We move one key. {'Words follow words. ' * 100}{claim}") == []


def test_one_note_for_a_sentence_and_one_for_each_sentence():
    assert found(f"{CLAIM}, so {CLAIM}.") == ["attention-invariant"]
    assert found("The KL divergence is symmetric. Dropout is active at test time.") == [
        "divergence-symmetric",
        "dropout-test",
    ]


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_an_entry(claim):
    row, name = claim.demonstration.split(": ")
    assert row in catalogue()
    assert not claim.study or row in entry_of(claim.study).rows
    home, _, function = name.rpartition(".")
    assert callable(getattr(importlib.import_module(home), function))
    assert re.fullmatch(r"[A-Z0-9].*\.", claim.claim)
    assert all(cue == cue.lower() for cues in claim.cues for cue in cues)
    assert claim.truth != claim.claim and claim.why.endswith(".")


def test_cues_are_needed_by_every_phrasing_that_is_tested():
    for id, texts in SAID.items():
        for text in texts:
            assert CLAIMS[id].has_cues(text.lower()), text


def test_shorthands():
    assert re.fullmatch(regular_expression("a b~c"), "a \n b-c")
    assert re.fullmatch(regular_expression("a b ?c"), "a bc")
    gap = re.compile(regular_expression("one…two", "three|four five"))
    assert gap.search("one and then two")
    assert gap.search("one threes two") and gap.search("one four two")
    assert not gap.search("one three two") and not gap.search("one four five two")
    assert not gap.search("one but two") and not gap.search("one isn't two") and not gap.search("one " + "and " * 30 + "two")


def test_sentences():
    text = "One, e.g. This. Two? (Three.) Four\n- five. Six\n2. seven $x. Y$"
    parts = [part.text for part in sentences(text)]
    assert parts == ["One, e.g. This. ", "Two? ", "(Three.) ", "Four\n", "- five. ", "Six\n", "2. seven $x. ", "Y$"]
    assert [text[part.start : part.start + len(part.text)] for part in sentences(text)] == parts
    assert "".join(parts) == text
    assert plain("a **b**") == "a   b  "


def test_a_long_text_without_full_stops():
    assert found("attention invariant key head softmax temperature dropout " * 20_000) == []
    assert found("key head. attention invariant temperature " * 20_000) == []
