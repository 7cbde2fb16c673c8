"""Aligned text of nested lists: brackets, wrapping, slices and what is left out."""

from workings.exact.typeset.grid import grid


def test_a_single_cell_is_itself():
    assert grid("1/√2") == "1/√2"


def test_a_vector_is_one_line():
    assert grid(["1", "1/√2", "0"]) == "[1  1/√2  0]"


def test_a_matrix_is_aligned_to_the_right():
    assert grid([["1", "1/2"], ["1/√2", "0"], ["−1", "16w − 8"]]) == (
        "⎡   1      1/2⎤\n"
        "⎢1/√2        0⎥\n"
        "⎣  −1  16w − 8⎦"
    )  # fmt: skip


def test_one_row_and_nothing():
    assert grid([["1", "2"]]) == "[1  2]"
    assert grid([]) == "[]"
    assert grid([[], []]) == "⎡⎤\n⎣⎦"
    assert grid([[[]]]) == "[0, :, :] =\n[]"


def test_slices_are_named():
    assert grid([[["1", "2"], ["3", "4"]], [["5", "6"], ["7", "8"]]]) == (
        "[0, :, :] =\n⎡1  2⎤\n⎣3  4⎦\n\n[1, :, :] =\n⎡5  6⎤\n⎣7  8⎦"
    )
    assert grid([[[["1"]], [["2"]]]]).split("\n")[0] == "[0, 0, :, :] ="


def test_wide_matrices_wrap_by_columns():
    rows = [[f"{10 * i + j}" for j in range(10)] for i in range(1, 3)]
    wrapped = grid(rows, width=20)
    assert wrapped.split("\n")[:3] == ["columns 0 to 4:", "⎡10  11  12  13  14⎤", "⎣20  21  22  23  24⎦"]
    assert wrapped.split("\n")[3] == "columns 5 to 9:"
    assert max(map(len, wrapped.split("\n"))) <= 20


def test_a_column_too_wide_stands_alone():
    assert grid([["x" * 30, "1"]], width=20) == f"column 0:\n[{'x' * 30}]\ncolumn 1:\n[1]"


def test_tall_matrices_lose_their_middle():
    rows = [[str(i), str(-i)] for i in range(100)]
    lines = grid(rows).split("\n")
    assert len(lines) == 40
    assert lines[0].split() == ["⎡", "0", "0⎤"]
    assert lines[20].split() == ["⎢", "⋮", "⋮⎥"]
    assert lines[-1].split() == ["⎣99", "-99⎦"]
    assert len(grid(rows, most_rows=None).split("\n")) == 100
    assert len(grid(rows, most_rows=5).split("\n")) == 5


def test_wide_characters_count_twice_and_accents_not():
    assert grid([["重"], ["a"], ["x̂"]]) == "⎡重⎤\n⎢ a⎥\n⎣ x̂⎦"
