"""Linear algebra: by hand, against SymPy on rational matrices, and gradients against float64 autograd."""

import pytest
import sympy
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workings import exact
from workings.errors import DomainError, WorkingsError
from workings.exact.numbers.sympy_form import to_sympy
from workings.exact.tensor.lift import lift_number


def same(x, text):
    """Every element of `x` is, as a formula, the element written in `text`."""
    return x.elements() == exact(text).elements()


def as_sympy(x):
    return sympy.Matrix(*x.shape, [to_sympy(v) for v in x.elements()])


def rational_matrix(rows, columns):
    entry = st.fractions(min_value=-4, max_value=4, max_denominator=4)
    return st.lists(st.lists(entry, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


def made(rows):
    return exact([[lift_number(v) for v in row] for row in rows])


def reference(rows):
    return sympy.Matrix([[sympy.Rational(v.numerator, v.denominator) for v in row] for row in rows])


few = settings(max_examples=15, deadline=None)


# ---- by hand
def test_determinant_and_inverse_in_letters():
    A = exact("a b; c d")
    assert same(torch.linalg.det(A), "a*d - b*c")
    assert same(torch.linalg.inv(A), "d/(a*d - b*c) -b/(a*d - b*c); -c/(a*d - b*c) a/(a*d - b*c)")


def test_solve_by_hand():
    # 2x + y = 3, x + 3y = 5: x = 4/5, y = 7/5
    assert same(torch.linalg.solve(exact("2 1; 1 3"), exact("3; 5")), "4/5; 7/5")


def test_cholesky_by_hand():
    # [[4, 2], [2, 3]] = L Lᵀ with L = [[2, 0], [1, √2]]
    assert same(torch.linalg.cholesky(exact("4 2; 2 3")), "2 0; 1 √2")


def test_lu_exchanges_for_the_larger_pivot():
    # 3 is the larger pivot: rows change places, then 1/3 of (3, 4) is taken from (1, 2).
    P, L, U = torch.linalg.lu(exact("1 2; 3 4"))
    assert same(P, "0 1; 1 0")
    assert same(L, "1 0; 1/3 1")
    assert same(U, "3 4; 0 2/3")


def test_qr_by_hand():
    # The first column has length 5, and LAPACK gives R a negative first element.
    Q, R = torch.linalg.qr(exact("3 1; 4 2"))
    assert same(Q, "-3/5 -4/5; -4/5 3/5")
    assert same(R, "-5 -11/5; 0 2/5")


def test_reflections_of_a_column():
    # x = (3, 4): β = −5, τ = (β − 3)/β = 8/5, v = (1, 4/(3 + 5)) = (1, 1/2)
    packed, tau = torch.geqrf(exact("3; 4"))
    assert same(packed, "-5; 1/2")
    assert same(tau, "8/5")
    assert same(torch.linalg.householder_product(packed, tau), "-3/5; -4/5")


def test_eigenvalues_by_hand():
    # (2 − λ)(3 − λ) = 1
    assert same(torch.linalg.eigvalsh(exact("2 1; 1 3")), "5/2-√5/2 5/2+√5/2")
    w, V = torch.linalg.eigh(exact("2 1; 1 2"))
    assert same(w, "1 3")
    assert same(V.abs(), "1/√2 1/√2; 1/√2 1/√2")


def test_singular_values_of_a_rank_one_matrix():
    # [[3, 0], [4, 0]] = 5·(3/5, 4/5)ᵀ(1, 0)
    U, S, Vh = torch.linalg.svd(exact("3 0; 4 0"))
    assert same(S, "5 0")
    assert same(U @ torch.diag(S) @ Vh, "3 0; 4 0")
    assert same(U.mT @ U, "1 0; 0 1")


def test_eigenvalues_of_degree_three_are_roots():
    # det(xI − A) = x³ − 3x² + 3 has no rational root; the roots' sum is the trace 3, their product det A = −3.
    w = torch.linalg.eigvalsh(exact("1 1 0; 1 0 1; 0 1 2"))
    assert w[0].text() == "root_of(0, 3, 0, −3, 1)"
    assert [v.kind for v in w.elements()] == ["root_of"] * 3
    assert w.float64().sum().item() == pytest.approx(3, abs=1e-14)
    assert w.float64().prod().item() == pytest.approx(-3, abs=1e-14)
    assert exact.from_json(w.to_json()).elements() == w.elements()


def test_a_repeated_eigenvalue_has_orthonormal_vectors():
    # λ = 1 twice and 4 once
    A = exact("2 1 1; 1 2 1; 1 1 2")
    w, V = torch.linalg.eigh(A)
    assert same(w, "1 1 4")
    assert torch.allclose((V.mT @ V).float64(), torch.eye(3).double())
    assert torch.allclose((V @ torch.diag(w) @ V.mT).float64(), A.float64())


def test_pseudoinverse_of_a_singular_matrix():
    # A = (1, 2)ᵀ(1, 2), so A⁺ = A/25
    assert same(torch.linalg.pinv(exact("1 2; 2 4")), "1/25 2/25; 2/25 4/25")
    # σ = 2 and 1: with rtol = 3/4 only 2 counts.
    assert same(torch.linalg.pinv(exact("2 0; 0 1"), rtol=0.75), "1/2 0; 0 0")


def test_least_squares_line():
    # The line through (0, 1), (1, 2), (2, 4): intercept 5/6, slope 3/2; residuals 1/6, −1/3, 1/6.
    found = torch.linalg.lstsq(exact("1 0; 1 1; 1 2"), exact("1; 2; 4"), driver="gels")
    assert same(found.solution, "5/6; 3/2")
    assert same(found.residuals, "1/6")


def test_least_squares_with_a_tolerance():
    # σ = 2 and 1/2: with rcond = 1/2 the second is taken as 0.
    found = torch.linalg.lstsq(exact("2 0; 0 1/2"), exact("1; 1"), rcond=0.5, driver="gelsd")
    assert same(found.solution, "1/2; 0")
    assert found.rank.item() == 1
    assert same(found.singular_values, "2 1/2")


def test_ldl_of_an_indefinite_matrix_needs_a_block_of_two():
    LD, pivots = torch.linalg.ldl_factor(exact("0 1; 1 0"))
    assert same(LD, "0 0; 1 0")
    assert pivots.tolist() == [-2, -2]
    assert same(torch.linalg.ldl_solve(LD, pivots, exact("2; 3")), "3; 2")


# ---- messages
def test_a_singular_matrix_is_an_error():
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(exact("1 2; 2 4"))
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.solve(exact("1 2; 2 4"), exact("1; 1"))
    with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 2"):
        torch.linalg.cholesky(exact("1 2; 2 1"))


def test_eigenvalues_in_letters_are_outside():
    with pytest.raises(DomainError, match="An eigenvalue is found exactly for matrices of rational numbers"):
        torch.linalg.eigvalsh(exact("a 1; 1 2"))


# ---- against SymPy
@few
@given(rational_matrix(3, 3))
def test_determinant_and_inverse_against_sympy(rows):
    A, M = made(rows), reference(rows)
    assert to_sympy(torch.linalg.det(A).elements()[0]) == M.det()
    if M.det() != 0:
        assert as_sympy(torch.linalg.inv(A)) == M.inv()
        assert as_sympy(torch.linalg.solve(A, exact("1; 2; 3"))) == M.solve(sympy.Matrix([1, 2, 3]))


@few
@given(rational_matrix(3, 2))
def test_factors_against_sympy(rows):
    A, M = made(rows), reference(rows)
    P, L, U = torch.linalg.lu(A)
    assert as_sympy(P @ L @ U) == M
    assert as_sympy(torch.linalg.pinv(A)) == M.pinv()
    if M.rank() == 2:
        Q, R = torch.linalg.qr(A)
        assert sympy.simplify(as_sympy(Q) * as_sympy(R) - M) == sympy.zeros(3, 2)
        assert sympy.simplify(as_sympy(Q).T * as_sympy(Q)) == sympy.eye(2)
        G = M.T * M
        assert sympy.simplify(as_sympy(torch.linalg.cholesky(A.mT @ A)) - G.cholesky()) == sympy.zeros(2, 2)


@few
@given(rational_matrix(2, 2))
def test_eigenvalues_against_sympy(rows):
    A, M = made(rows), reference(rows)
    w = torch.linalg.eigvalsh(A + A.mT)
    expected = sorted((v for v, k in (M + M.T).eigenvals().items() for _ in range(k)), key=lambda v: v.evalf(50))
    assert [sympy.simplify(to_sympy(v) - e) for v, e in zip(w.elements(), expected, strict=True)] == [0, 0]


# ---- gradients
FUNCTIONS = {
    "det": torch.linalg.det,
    "inv": torch.linalg.inv,
    "solve": lambda A: torch.linalg.solve(A, A.mT[:, :1]),
    "cholesky": lambda A: torch.linalg.cholesky(A @ A.mT),
    "lu": lambda A: torch.linalg.lu(A)[2],
    "qr": lambda A: torch.linalg.qr(A)[1],
    "eigvalsh": lambda A: torch.linalg.eigvalsh(A + A.mT),
    "svdvals": torch.linalg.svdvals,
    "pinv": lambda A: torch.linalg.pinv(A[:, :2]),
    "lstsq": lambda A: torch.linalg.lstsq(A[:, :2], A[:, 2:]).solution,
    "cond": torch.linalg.cond,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_against_float64(name):
    plain = torch.tensor([[2.0, 1, 0], [1, 3, 1.5], [0.5, -1, 4]], dtype=torch.float64)
    grads = []
    for A in (plain.clone().requires_grad_(), exact(plain).requires_grad_()):
        y = FUNCTIONS[name](A)
        (grad,) = torch.autograd.grad((y * y).sum(), A)
        grads.append(grad)
    assert torch.allclose(grads[1].float64(), grads[0], rtol=1e-9, atol=1e-9)


# ---- roots of polynomials
def test_a_root_reads_what_it_writes():
    # x³ − 2 has the real root ∛2 only; x² − x − 1 is solved by radicals.
    v = exact("root_of(0, -2, 0, 0, 1)")
    assert exact(v.text()).elements() == v.elements()
    assert v.float64().item() == pytest.approx(2 ** (1 / 3), abs=1e-15)
    assert to_sympy(v.elements()[0]).evalf(30) == sympy.cbrt(2).evalf(30)
    assert same(exact("root_of(1, -1, -1, 1)"), "1/2+√5/2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("root_of(1, -2, 0, 0, 1)", "This polynomial has 1 real roots, numbered from 0: there is no root 1."),
        ("root_of(0, 1/2, 1)", "root_of takes the number of a root, then the 2 to 65 integer coefficients"),
        ("root_of(0, 1, 0)", "the last not 0"),
    ],
)
def test_what_a_root_needs(text, message):
    with pytest.raises(WorkingsError, match=message):
        exact(text)


def test_eigenvalues_that_are_not_found_say_why():
    with pytest.raises(DomainError, match=r"may be complex.*torch.linalg.eigvalsh\(A\)"):
        torch.linalg.eigvals(exact("1 2; 3 4"))
    with pytest.raises(DomainError, match="this one holds √2"):
        torch.linalg.eigvalsh(exact("1 sqrt(2); sqrt(2) 4"))


def test_a_system_of_four_with_letters_is_solved_by_elimination_or_has_no_solution():
    # w on the diagonal, ones above it: x₄ = 1/w, x₃ = (1 − x₄)/w, …; with two equal rows nothing is determined.
    A = exact("w 1 0 0; 0 w 1 0; 0 0 w 1; 0 0 0 w")
    b = exact("0 0 0 1")
    x = torch.linalg.solve_ex(A, b).result
    assert exact.equal(x, exact("-1/w^4 1/w^3 -1/w^2 1/w")).how == "proved"
    singular = exact("w 1 0 0; w 1 0 0; 0 0 w 1; 0 0 0 w")
    assert torch.linalg.solve_ex(singular, b).result.isnan().all()


def test_singular_vectors_beyond_the_rank_complete_a_basis():
    # AᵀA = 25: one singular value, 5, and two directions that A does not reach
    A = exact("3; 0; 4")
    U, S, Vh = torch.linalg.svd(A, full_matrices=True)
    assert U.shape == (3, 3)
    assert same(S, "[5]")
    assert exact.equal(U.mT @ U, exact.eye(3)).how == "proved"
    assert exact.equal(U[:, :1] * S @ Vh, A).how == "proved"
