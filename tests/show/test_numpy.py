"""NumPy arrays are shown by their values, as they were when a statement ran."""

import numpy as np
import torch

import workings


def moments(a):
    m = a.mean(axis=0)
    v = np.sum((a - m) ** 2, axis=0) / len(a)
    a[0, 0] = 7
    z = a @ m
    return z, v


def test_arrays_are_values():
    work = workings.show(moments, np.array([[1.0, 2.0], [3.0, 6.0]]))
    lines = [line.rstrip() for line in work.text().split("\n")]
    assert lines[0] == "a = ⎡1  2⎤  (2×2)"
    assert "m = mean(a, axis 0) = mean(⎡1  2⎤, axis 0) = [2  4]  (2)" in lines
    assert "v = Σ((a − m)², axis 0) / 2 = Σ((⎡1  2⎤ − [2, 4])², axis 0) / 2 = [1  4]  (2)" in lines
    assert "z = a m = ⎡7  2⎤ [2, 4] = [22  30]  (2)" in lines
    assert lines[-1] == "matches the unmodified run (largest difference 0)"


def test_a_record_keeps_the_numbers_of_its_moment():
    work = workings.show(moments, np.array([[1.0, 2.0], [3.0, 6.0]]))
    assert torch.equal(work.step("m").operands["a"], torch.tensor([[1.0, 2.0], [3.0, 6.0]], dtype=torch.float64))
    assert workings.show.Work.from_json(work.json()).text() == work.text()
    assert r"\begin{bmatrix} 7 & 2 \\ 3 & 6 \end{bmatrix}" in work.latex()


def test_arrays_of_words_stay_what_they_are():
    def f(x):
        words = np.array(["a", "b"])
        return x, words

    assert 'words = array(["a", "b"])' in workings.show(f, torch.ones(1)).text().replace("'", '"')
