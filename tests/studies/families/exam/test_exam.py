"""The exam: the key of each item, and that a broken mechanism has another key."""

import pytest

from workings.studies import Table
from workings.studies.families.exam import exam, exam_models

KEYS = [
    (exam.exam_temperature, "false true true true"),
    (exam.exam_separable, "false true false false"),
    (exam.exam_penalty, "true false false false"),
    (exam.exam_convolution, "true false false false"),
    (exam_models.exam_latent, "true false false false"),
    (exam_models.exam_rnn, "true false false false"),
    (exam_models.exam_parallel, "true false false false"),
    (exam_models.exam_heads, "true true true false"),
]


def key(parts):
    return " ".join(row[2] for row in next(part for part in parts if isinstance(part, Table)).rows)


@pytest.mark.parametrize(("item", "right"), KEYS, ids=[item.name for item, _ in KEYS])
def test_the_key(item, right):
    assert {key(item(seed=seed)) for seed in range(3)} == {right}
    for way in item.controls:
        assert key(item(broken=way)) != right, way


def test_the_steps_of_the_recurrent_net_by_hand():
    reasons = [row[3] for row in next(part for part in exam_models.exam_rnn() if isinstance(part, Table)).rows]
    # ∂L/∂w = −0.0311595 and ∂L/∂a = −0.0131983, with η = 0.1
    assert "+0.0031159" in reasons[0] and "+0.0013198" in reasons[1]
