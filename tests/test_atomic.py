"""Files that appear whole or not at all."""

import pytest

from workings.atomic import replacing, write_text
from workings.errors import WorkingsError


def test_a_reader_sees_the_old_file_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "figures.txt"
    path.write_text("old")
    with replacing(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old" and partial.parent == path.parent
    assert path.read_text() == "new" and [*tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("fails", [OSError("the disk is full"), KeyboardInterrupt()])
def test_after_an_error_nothing_is_left_but_the_old_file(tmp_path, fails):
    path = tmp_path / "figures.txt"
    path.write_text("old")
    with pytest.raises(type(fails)), replacing(path) as partial:
        partial.write_text("half of the ne")
        raise fails
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


def test_a_folder_is_written_whole_too(tmp_path):
    with pytest.raises(ValueError), replacing(tmp_path / "step-1") as partial:
        partial.mkdir()
        (partial / "weights").write_text("w")
        raise ValueError
    assert not [*tmp_path.iterdir()]
    with replacing(tmp_path / "step-1") as partial:
        partial.mkdir()
        (partial / "weights").write_text("w")
    assert (tmp_path / "step-1" / "weights").read_text() == "w" and [*tmp_path.iterdir()] == [tmp_path / "step-1"]


def test_two_writers_do_not_share_a_place(tmp_path):
    with replacing(tmp_path / "a") as one, replacing(tmp_path / "a") as other:
        one.write_text("1")
        other.write_text("2")
    assert (tmp_path / "a").read_text() == "1"  # the one that ended last


def test_what_stands_in_the_way_is_said(tmp_path):
    with pytest.raises(WorkingsError) as error:
        write_text(tmp_path / "no" / "page.html", "x")
    assert str(error.value) == f"Could not write {tmp_path / 'no' / 'page.html'}: No such file or directory."


def test_a_refusal_to_delete_does_not_hide_the_error(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError

    with pytest.raises(ValueError, match="the cause"), replacing(tmp_path / "step-1") as partial:
        partial.mkdir()
        monkeypatch.setattr("os.rmdir", refuse)
        raise ValueError("the cause")


def test_an_error_before_anything_is_written_is_raised(tmp_path):
    with pytest.raises(ValueError, match="the cause"), replacing(tmp_path / "a"):
        raise ValueError("the cause")
