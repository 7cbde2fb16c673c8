r"""Why a deep averaging network gets reviews wrong: hypotheses tested by editing the text.

    z = 1/n Σ_t E[w_t],  θ = network(z)            the mean of the words is all that the network sees
    l_t = s(X) − s(X without t)                    leave one out;   g_t = ∂s/∂x_t · x_t   gradient × input
    l_t = (n g_t − Σ_u g_u) / (n − 1)              if the network is linear

The reviews are written by a seeded grammar: clauses with a verdict each, some negated («not good»), some turned round by
«but». The label is what most clauses say, negation included, or what stands after «but».
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from workings.models.averaging import DeepAveraging, average
from workings.nn.objectives.losses import cross_entropy
from workings.studies.claim import Bounds, Claim
from workings.studies.decide.proof import compared, equal, proved
from workings.studies.decide.trials import most_trials
from workings.studies.definition import Seed, study
from workings.studies.parameters import Range
from workings.studies.parts import Cell, Part, Table, Text
from workings.studies.pictures.kinds import Bars
from workings.studies.running.progress import progress
from workings.train.evaluation.mistakes import Mistake, choose
from workings.train.evaluation.words import order_warning
from workings.train.tasks.sentiment import cut as cut_marking_negation
from workings.train.text.contributions import contributions
from workings.train.text.explain import Explainer, Explanation
from workings.train.text.vocabulary import Words

_OPPOSITES = [
    ("good", "bad"), ("fine", "poor"), ("moving", "cold"), ("clever", "stupid"), ("fresh", "stale"), ("lovely", "ugly"),
    ("gripping", "dull"), ("funny", "tedious"),
]  # fmt: skip
_OPPOSITE = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
_THINGS = "plot cast music ending camera story dialogue pace scenery humour".split()
_HOW = ["", "", "", "really ", "quite ", "so "]
_CLASSES = ("negative", "positive")


@dataclass(frozen=True)
class _Clause:
    """What a review says of one thing."""

    thing: str
    how: str
    word: str
    negated: bool = False

    @property
    def verdict(self) -> int:
        """1 for praise, −1 for blame, negation included."""
        praise = any(self.word == good for good, _ in _OPPOSITES)
        return 1 if praise is not self.negated else -1

    def __str__(self) -> str:
        return f"the {self.thing} is {'not ' * self.negated}{self.how}{self.word}"


@dataclass(frozen=True)
class _Review:
    """Clauses, an odd number; with `but` before the last one, that one decides."""

    clauses: tuple[_Clause, ...]
    but: bool = False

    @property
    def label(self) -> int:
        counted = self.clauses[-1:] if self.but else self.clauses
        return int(sum(clause.verdict for clause in counted) > 0)

    def __str__(self) -> str:
        *first, last = map(str, self.clauses)
        return f"{', '.join(first)}, {'but ' * self.but}{last}."

    @property
    def has_negation(self) -> bool:
        return any(clause.negated for clause in self.clauses)

    def without_negation(self) -> _Review:
        """The same meaning in other words: bad in place of not good."""
        said = (replace(c, word=_OPPOSITE[c.word], negated=False) if c.negated else c for c in self.clauses)
        return replace(self, clauses=tuple(said))

    def with_other_things(self) -> _Review:
        """A change that should change nothing: each thing is another one."""
        other = dict(zip(_THINGS, _THINGS[1:] + _THINGS[:1], strict=True))
        return replace(self, clauses=tuple(replace(c, thing=other[c.thing]) for c in self.clauses))


def _written(count: int, negated: float, draw: random.Random) -> list[_Review]:
    def clause() -> _Clause:
        word = draw.choice([word for pair in _OPPOSITES for word in pair])
        return _Clause(draw.choice(_THINGS), draw.choice(_HOW), word, draw.random() < negated)

    return [_Review(tuple(clause() for _ in range(draw.choice((3, 5)))), draw.random() < 0.1) for _ in range(count)]


def _plain(text: str) -> list[str]:
    return text.replace(",", " ").replace(".", " ").split()


@dataclass(frozen=True)
class _Classifier:
    """A trained network, with the way it cuts texts."""

    model: DeepAveraging
    words: Words
    cut: Callable[[str], list[str]]

    @torch.no_grad()
    def p(self, reviews: Sequence[_Review]) -> Tensor:
        """The probability of each class, in double precision."""
        return self.model(*_table([self.cut(str(one)) for one in reviews], self.words)).softmax(dim=1)

    def mistaken(self, reviews: Sequence[_Review]) -> Tensor:
        return self.p(reviews).argmax(dim=1) != torch.tensor([one.label for one in reviews])

    def explainer(self) -> Explainer:
        return Explainer(
            self.model,
            _CLASSES,
            self.cut,
            lambda found: torch.tensor(self.words.encode(found)),
            self.words.words.__getitem__,
        )


def _table(texts: list[list[str]], words: Words) -> tuple[Tensor, Tensor]:
    longest = max(map(len, texts))
    tokens = torch.tensor([words.encode(text) + [0] * (longest - len(text)) for text in texts])
    return tokens, torch.arange(longest) < torch.tensor([len(text) for text in texts])[:, None]


def _trained(reviews: Sequence[_Review], cut: Callable[[str], list[str]], steps: int, seed: int) -> _Classifier:
    g = torch.Generator().manual_seed(seed)
    texts = [cut(str(one)) for one in reviews]
    words = Words.of(word for text in texts for word in text)
    tokens, mask = _table(texts, words)
    y = torch.tensor([one.label for one in reviews])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = DeepAveraging(torch.randn(len(words), 16), [16], 2, word_dropout=0.1).double()
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        for _ in range(steps):
            i = torch.randint(len(y), (64,), generator=g)
            loss = cross_entropy(model(tokens[i], mask[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return _Classifier(model.eval(), words, cut)


@study(rows=("K12",), trains=True, thorough={"seeds": 15, "steps": 600})
def misclassified_reviews(
    seeds: Annotated[int, Range(7, 50, "fewer than seven trials decide nothing at 0.01"), "networks to train"] = 7,
    steps: Annotated[int, Range(100, 5_000, "fewer do not train"), "updates of each network"] = 250,
    negated: Annotated[
        float, Range(0.05, 0.4, "there must be negations, and fewer than plain words"), "share negated"
    ] = 0.15,
    seed: Seed = 0,
    broken: Literal[
        "", "words weighted by their place", "negated words are other words", "the edit changes things", "a hidden layer"
    ] = "",
) -> list[Part]:
    """Five reviews that a deep averaging network gets wrong, and whether negation is why: the text is edited and read again.

    A mean of word vectors does not see which word «not» stands before. Where that decides, no weights can be right.
    """
    cut = cut_marking_negation if broken == "negated words are other words" else _plain
    excess, repaired, placebo, halves, networks = [], [], [], [], []
    judges: list[_Review] = []
    for k in progress(range(seeds), "networks"):
        draw = random.Random(1_000_003 * seed + k)
        networks.append(network := _trained(_written(1500, negated, draw), cut, steps, seed + k))
        judges = _written(1000, negated, draw)
        wrong = network.mistaken(judges)
        has = torch.tensor([one.has_negation for one in judges])
        excess.append(float(wrong[has].double().mean() - wrong[~has].double().mean()))
        ours = [judges[i] for i in (wrong & has).nonzero()[:, 0].tolist()]
        things = [one.with_other_things() for one in ours]
        edited = things if "things" in broken else [one.without_negation() for one in ours]
        repaired.append(1 - float(network.mistaken(edited).double().mean()) if ours else 0.0)
        placebo.append(1 - float(network.mistaken(things).double().mean()) if ours else 0.0)
        halves.append(float((~network.mistaken(_pairs())).double().mean()))
    claims = [
        _order_claim(broken),
        proved(
            "Of «good, not bad» and «bad, not good» it takes one for what it is: half are right, whatever was learned",
            all(half == 0.5 for half in halves),
            f"shares right: {', '.join(f'{half:.3g}' for half in halves)} of {len(_pairs())} reviews in pairs",
            "both have the same words, and so the same mean",
        ),
        most_trials(
            "Reviews with a negation are mistaken more often than the others, by at least 8 points in a hundred",
            excess,
            0.08,
            what="share mistaken with a negation, less without,",
            reference="the label needs the order, which the mean has lost",
        ),
        most_trials(
            "Of these mistakes at least 70 % are repaired by saying the same without negation: bad for not good",
            repaired,
            0.7,
            what="share repaired",
            reference="a hypothesis is tested by an edit that changes its cause alone",
        ),
        compared(
            "For a linear network, leave-one-out and gradient × input say the same: l_t = (n g_t − Σ g)/(n − 1)",
            _identity_error(seed, hidden=broken == "a hidden layer"),
            Bounds(high=1e-9),
            "largest difference",
            reference="s = w·z + b: l_t = w·(x_t − z)/(n − 1), g_t = w·x_t/n",
        ),
    ]
    if broken:
        return [*claims]
    network = networks[-1]
    shown = _five(network, judges)
    marked = _trained(_written(1500, negated, random.Random(seed)), cut_marking_negation, steps, seed)
    return [
        *claims,
        _mistakes_table(network, judges, shown),
        _words_picture(network.explainer().explain(str(judges[shown[0].number])), shown[0]),
        _groups_picture({"words": network, "negated words are other words": marked}, judges),
        Table(
            "What edits do to mistaken reviews with a negation (share that is then right)",
            ["network", "share mistaken, less without negation", "negation said otherwise", "other things (placebo)"],
            [[k, *row] for k, row in enumerate(zip(excess, repaired, placebo, strict=True))],
        ),
        Text(
            "A grammar writes these reviews, so that their true label is known after an edit too. The same tables for real "
            'ones: workings eval RUN --errors 5 --edit "not good => bad". Marking the words after a negation (good_ for the '
            "good in «not good») lets a mean see negation; «but» it still does not see."
        ),
    ]


def _pairs() -> list[_Review]:
    """Reviews in pairs that have the same words and opposite labels: a, not b; not a, b."""
    return [
        _Review((_Clause(first, "", a, not_a), _Clause(second, "", b, not not_a)))
        for first, second in zip(_THINGS[::2], _THINGS[1::2], strict=True)
        for a, b in _OPPOSITES
        for not_a in (False, True)
    ]


def _order_claim(broken: str) -> Claim:
    """Three words as letters, in two orders."""
    from workings import exact

    E = exact("a b; c d; e f")
    here, there = torch.tensor([[0, 1, 2]]), torch.tensor([[2, 0, 1]])

    def mean(tokens: Tensor) -> Any:
        if broken == "words weighted by their place":
            return (E[tokens[0]] * exact([[3], [2], [1]])).sum(dim=0) / 6
        return average(E, tokens, torch.ones_like(tokens, dtype=torch.bool))

    sentence = (
        "The order of the words makes no difference: the mean of a, b, c is that of c, a, b, and so is all that follows"
    )
    return equal(
        sentence, mean(here), mean(there), "a sum does not depend on the order; proved with letters for the vectors"
    )


def _identity_error(seed: int, hidden: bool) -> float:
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(7, 5, generator=g, dtype=torch.float64)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2)] if hidden else [nn.Linear(5, 2)]
        found = contributions(nn.Sequential(*layers).double(), X, 1)
    l, gi = (torch.tensor(row, dtype=torch.float64) for row in (found.leave_one_out, found.gradient_input))
    return float((l - (len(X) * gi - gi.sum()) / (len(X) - 1)).abs().max())


def _five(network: _Classifier, judges: Sequence[_Review]) -> list[Mistake]:
    """Two positive reviews taken for negative and three the other way round, from the surest to the most undecided."""
    p, y = network.p(judges), torch.tensor([one.label for one in judges])
    found = []
    for label, count in ((1, 2), (0, 3)):
        rows = (y == label).nonzero()[:, 0]
        found += [replace(one, number=int(rows[one.number])) for one in choose(y[rows], p[rows], count)[1]]
    return found


def _mistakes_table(network: _Classifier, judges: Sequence[_Review], shown: Sequence[Mistake]) -> Table:
    rows: list[list[Cell]] = []
    for one in shown:
        review = judges[one.number]
        read = network.explainer().explain(str(review), one.taken)
        other = review.without_negation() if review.has_negation else review.with_other_things()
        after = float(network.p([other])[0, one.truth])
        why = "negation" if review.has_negation else "order (but)" if order_warning(str(review)) else "weights"
        tested = "said without" if review.has_negation else "other things"
        held = "yes" if review.has_negation and after > 0.5 else "no"
        rows.append([str(review), _CLASSES[one.truth], one.p[one.truth], _cues(read), why, tested, after, held])
    columns = ["review", "it is", "p of that", "for the wrong class / against", "hypothesis", "edit", "p after", "holds"]
    return Table("Five mistakes, each with a hypothesis and its test", columns, rows)


def _cues(read: Explanation) -> str:
    """The words that speak most for the class, and most against it, by leaving them out."""
    first, last = ([f"{part.word} {part.leave_one_out:+.2g}" for part in row] for row in (read.parts[:2], read.parts[-2:]))
    return f"{', '.join(first)} / {', '.join(last)}"


def _words_picture(read: Explanation, one: Mistake) -> Bars:
    return Bars(
        f"What each word adds to «{_CLASSES[one.taken]}» in the first of them, which is {_CLASSES[one.truth]}",
        [part.word for part in read.parts],
        {
            "leave one out": [part.leave_one_out for part in read.parts],
            "gradient × input": [part.gradient_input for part in read.parts],
        },
        ylabel="part in the margin",
    )


def _groups_picture(networks: dict[str, _Classifier], judges: Sequence[_Review]) -> Bars:
    groups: dict[str, Callable[[_Review], bool]] = {
        "negation": lambda one: one.has_negation and not one.but,
        "but": lambda one: one.but and not one.has_negation,
        "neither": lambda one: not (one.but or one.has_negation),
    }
    chosen = [[one for one in judges if belongs(one)] for belongs in groups.values()]
    return Bars(
        "Mistakes by what the review has: marking negated words helps where negation was the cause, and only there",
        [*groups],
        {name: [float(net.mistaken(some).double().mean()) for some in chosen] for name, net in networks.items()},
        ylabel="share mistaken",
    )
