"""The mistakes of a classifier as one page: pictures with bars of probability, texts with coloured words."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from html import escape

from torch import Tensor

from workings.train.evaluation.mistakes import Mistake, Mistakes
from workings.train.run.report import PAGE, STYLE
from workings.train.tasks.drawing import image
from workings.train.text.explain import Explainer, Explanation

_OWN = """
.mistake { display: flex; gap: 1.2rem; padding: 1rem 0; border-bottom: 1px solid var(--line); flex-wrap: wrap; }
.mistake img { width: 9rem; height: 9rem; object-fit: contain; image-rendering: pixelated; background: #000; }
.mistake > div { flex: 1 1 18rem; } .mistake h3 { color: var(--ink); margin: 0 0 .4rem; }
.bar { display: grid; grid-template-columns: 7rem 1fr 4rem; gap: .5rem; font-size: .85rem; align-items: center; }
.bar i { display: block; height: .6rem; background: #8fa3b8; }
.bar.true i { background: #2e8b57; } .bar.taken i { background: #c0392b; }
.bar b { font-weight: 400; text-align: right; font-variant-numeric: tabular-nums; }
.text { font-size: .95rem; } mark { color: inherit; border-radius: .2rem; padding: 0 .1rem; }
"""


def page(name: str, found: Mistakes, explainer: Explainer | None) -> str:
    """Every mistake that was chosen, in its order."""
    blocks = [_block(found, i, explainer) for i in range(len(found.listed))]
    parts = [f"<h1>{escape(name)}</h1>", f"<p class=lead>{escape(found.heading())}</p>", *blocks]
    if explainer is not None and blocks:
        parts.append(
            "<p class=lead>Red words speak for the class the text is taken for, blue ones against it (leave one out).</p>"
        )
    return PAGE.format(title=f"{escape(name)}: mistakes", style=STYLE + _OWN, body="\n".join(parts))


def _block(found: Mistakes, i: int, explainer: Explainer | None) -> str:
    """A mistake: its picture, the probabilities of the classes, its text in the colours of its words' parts."""
    mistake, shown, text = found.listed[i], "", ""
    if found.pictures is not None:
        shown = f'<img alt="{escape(found.classes[mistake.truth])}" src="data:image/png;base64,{_png(found.pictures[i])}">'
    else:
        given = found.texts[i]
        text = f"<p class=text>{coloured(explainer.explain(given, mistake.taken)) if explainer else escape(given)}</p>"
    head = f"<h3>{i + 1}. {escape(mistake.describe(found.classes))}</h3>"
    return f"<section class=mistake>{shown}<div>{head}{_bars(mistake, found)}{text}</div></section>"


def _bars(mistake: Mistake, found: Mistakes, most: int = 5) -> str:
    """The likeliest classes, and the true one."""
    order = sorted(range(len(mistake.p)), key=lambda k: -mistake.p[k])
    shown = [k for k in order if k in order[:most] or k == mistake.truth]
    return "".join(_bar(mistake, k, found.classes[k]) for k in shown)


def _bar(mistake: Mistake, k: int, name: str) -> str:
    kind = " true" if k == mistake.truth else " taken" if k == mistake.taken else ""
    share = f"{mistake.p[k]:.1%}"
    return f'<div class="bar{kind}"><span>{escape(name)}</span><i style="width:{share}"></i><b>{share}</b></div>'


def _png(picture: Tensor) -> str:
    """A picture as the base64 of a PNG."""
    out = io.BytesIO()
    image(picture).save(out, "PNG")
    return b64encode(out.getvalue()).decode()


def coloured(read: Explanation) -> str:
    """The text, each known word in the colour of its part; a word after a negation in that of its own vector."""
    parts = {part.word: part.leave_one_out for part in read.parts}
    largest = max(map(abs, parts.values()), default=1.0) or 1.0

    def mark(found: re.Match[str]) -> str:
        word = found[0].lower()
        x = parts.get(word, parts.get(f"{word}_"))
        if x is None:
            return escape(found[0])
        tone = "192,57,43" if x > 0 else "31,111,196"
        return (
            f'<mark title="{x:+.3f}" style="background:rgba({tone},{0.65 * abs(x) / largest:.2f})">{escape(found[0])}</mark>'
        )

    text = " ".join(read.text.replace("<br />", " ").split())
    pieces, at = [], 0
    for found in re.finditer(r"[^\W_]+(?:['’][^\W_]+)?", text):
        pieces += [escape(text[at : found.start()]), mark(found)]
        at = found.end()
    return "".join([*pieces, escape(text[at:])])
