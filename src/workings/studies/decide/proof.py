"""Claims decided without chance or rounding: exact arithmetic, and numbers held against a closed form."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from workings.studies.claim import Bounds, Claim, Method, Verdict

if TYPE_CHECKING:
    from torch import Tensor

    from workings.exact import ExactTensor


def proved(sentence: str, true: bool | None, evidence: str, reference: str = "") -> Claim:
    """A claim that exact arithmetic, or counting all cases, decides; None where it could not.

    >>> proved("2 + 2 = 4", 2 + 2 == 4, "both are 4").verdict
    <Verdict.HOLDS: 'holds'>
    """
    verdict = Verdict.UNDECIDED if true is None else Verdict.HOLDS if true else Verdict.FAILS
    return Claim(sentence, verdict, Method.PROOF, evidence, reference=reference)


def equal(sentence: str, left: Tensor, right: Tensor, reference: str = "") -> Claim:
    """Two exact tensors are equal, entry by entry, with a proof; a difference that cannot be decided is undecided."""
    from workings import exact

    left, right = exact(left), exact(right)
    if left.shape != right.shape:
        return proved(sentence, False, f"sizes {[*left.shape]} and {[*right.shape]} differ", reference)
    proof = exact.equal(left, right)
    return proved(sentence, proof.equal, f"left {_brief(left)}, right {_brief(right)}", reference)


def compared(sentence: str, found: float, wanted: Bounds, what: str = "", reference: str = "") -> Claim:
    """A number that was computed (without chance) lies where the claim wants it; a number that is none fails.

    `what` names the number: «largest difference».

    >>> compared("e is less than 3", 2.718281828, Bounds(high=3), "e").evidence
    'e 2.718 (wanted: at most 3)'
    """
    verdict = wanted.judge(found, found) if isfinite(found) else Verdict.FAILS
    evidence = f"{what} {found:.4g} (wanted: {wanted})".strip()
    return Claim(sentence, verdict, Method.CLOSED_FORM, evidence, wanted, (found, found), reference=reference)


def agrees(sentence: str, found: float, expected: float, within: float, reference: str = "") -> Claim:
    """A computed number is that of the closed form, up to `within`.

    >>> agrees("the variance of a fair coin is ¼", 0.25, 1 / 4, 1e-12).evidence
    'found 0.25, closed form 0.25, difference 0 (allowed: 1e-12)'
    """
    off = abs(found - expected)
    evidence = f"found {found:.6g}, closed form {expected:.6g}, difference {off:.2g} (allowed: {within:.2g})"
    verdict = Verdict.HOLDS if off <= within else Verdict.FAILS  # NaN fails
    wanted = Bounds(expected - within, expected + within)
    return Claim(sentence, verdict, Method.CLOSED_FORM, evidence, wanted, (found, found), reference=reference)


def _brief(tensor: ExactTensor, most: int = 90) -> str:
    text = " ".join(tensor.text().split())
    return text if len(text) <= most else f"{text[:most]}…"
