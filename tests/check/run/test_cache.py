"""The cache: by content, kind, options and checker; damaged entries are replaced; the oldest go."""

import json
import os
from pathlib import Path

import pytest

from tests.check.fake_work import fake
from workings.check.document.options import Options
from workings.check.run import cache as module
from workings.check.run.cache import Cache, checker_version, folder
from workings.check.run.files import check_jobs
from workings.check.run.workers import Job

PLAIN = Options()


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("so WRONG", encoding="utf-8")
    return Job("a.md", path)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "workings" / "check"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert folder() == Path.home() / ".cache" / "workings" / "check"


def test_a_result_comes_back_under_another_name(cache, job):
    key, result = cache.key(job, PLAIN), fake(job, PLAIN)
    assert cache.get(key, job) is None
    cache.put(key, job, PLAIN, result)
    assert cache.get(key, job) == result
    other = Job("b.md", job.path.rename(job.path.with_name("b.md")))
    assert cache.key(other, PLAIN) == key
    assert cache.get(key, other).name == "b.md"
    assert [path.name for path in cache.place.iterdir()] == [f"{key}.json"]


def test_the_key_knows_content_kind_options_and_checker(cache, job, monkeypatch):
    keys = {cache.key(job, PLAIN), cache.key(job, Options(run_code=True))}
    text = Job("a.txt", job.path.with_suffix(".txt"))
    text.path.write_bytes(job.path.read_bytes())
    keys.add(cache.key(text, PLAIN))
    monkeypatch.setattr(module, "checker_version", lambda: "another")
    keys.add(cache.key(job, PLAIN))
    job.path.write_text("so WRONG!")
    keys.add(cache.key(job, PLAIN))
    assert len(keys) == 5


def test_the_version_is_that_of_the_sources():
    assert len(checker_version()) == 64
    assert checker_version() == checker_version.__wrapped__()


def test_large_and_missing_files_are_not_kept(cache, job, monkeypatch):
    assert cache.key(Job("gone", Path("gone.md")), PLAIN) == ""
    monkeypatch.setattr(module, "LARGEST", 3)
    assert cache.key(job, PLAIN) == ""
    cache.put("", job, PLAIN, fake(job, PLAIN))
    assert cache.get("", job) is None
    assert not cache.place.exists()


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", "null", '{"text": 3}', "\x00", "[" * 100_000])
def test_damaged_entries_are_replaced(cache, job, damage):
    key = cache.key(job, PLAIN)
    cache.place.mkdir()
    (cache.place / f"{key}.json").write_text(damage)
    assert cache.get(key, job) is None
    cache.put(key, job, PLAIN, fake(job, PLAIN))
    assert cache.get(key, job) == fake(job, PLAIN)


def test_a_document_that_changed_meanwhile_is_not_kept(cache, job):
    key, result = cache.key(job, PLAIN), fake(job, PLAIN)
    job.path.write_text("all good now")
    cache.put(key, job, PLAIN, result)
    assert not cache.place.exists()


def test_the_oldest_go_and_what_is_used_stays(cache, job):
    cache.most = 2
    cache.place.mkdir()
    key = cache.key(job, PLAIN)
    cache.put(key, job, PLAIN, fake(job, PLAIN))
    for age, name in enumerate([f"{key}.json", "c.json", "b.json"]):
        (cache.place / name).touch()
        os.utime(cache.place / name, (1000 + age, 1000 + age))
    (cache.place / ".x.partial").touch()
    os.utime(cache.place / ".x.partial", (1000, 1000))
    (cache.place / ".y.partial").touch()
    assert cache.get(key, job)  # the oldest, but it is used now
    cache.prune()
    assert sorted(path.name for path in cache.place.iterdir()) == sorted([".y.partial", f"{key}.json", "b.json"])


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, job):
    (tmp_path / "file").touch()
    cache = Cache(tmp_path / "file" / "cache")
    key = cache.key(job, PLAIN)
    cache.put(key, job, PLAIN, fake(job, PLAIN))
    cache.prune()
    assert cache.get(key, job) is None


def test_what_is_known_is_not_checked_again(cache, job, monkeypatch):
    monkeypatch.setattr("workings.check.run.files.check_job", fake)
    first = check_jobs([job], cache=cache)
    entry = next(cache.place.iterdir())
    row = json.loads(entry.read_text())
    assert row["text"] is None  # the document itself is not copied
    row["findings"][0]["truth"] = "from the cache"
    entry.write_text(json.dumps(row))
    again = check_jobs([job], cache=cache)
    assert first[0].results.findings[0].truth == "12/7"
    assert again[0].results.findings[0].truth == "from the cache"
    assert check_jobs([job])[0].results.findings[0].truth == "12/7"
