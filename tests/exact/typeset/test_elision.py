"""Formulas too long to print."""

from workings import exact


def test_long_numbers_are_shortened():
    assert exact("7^500").text() == "3540136494…⟨423 digits⟩"
    assert exact("7^500").latex() == r"3540136494\ldots\langle\text{423 digits}\rangle"
    assert exact("7^500*pi*q").text() == "3540136494…⟨423 digits⟩·π·q"
    assert exact("7^500").fraction() == 7**500
    assert exact("10^59").text() == "1" + 59 * "0"


def test_the_letters_of_an_elided_formula_are_few():
    x = exact.symbols("A", shape=(10,)).sum()
    t = x
    for _ in range(100):
        t = (t + x).exp()
    assert t.text().endswith("nodes in A_1, A_10, A_2, A_3, A_4, A_5, …⟩")
    assert t.latex().endswith(r"A_{4}, A_{5}, \ldots\rangle")
