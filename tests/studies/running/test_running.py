"""What a result depends on: the code, the cache, the index, the seed."""

import json
from pathlib import Path
from typing import Literal

import pytest
import torch

from workings.errors import WorkingsError
from workings.studies import Part, Seed, judged, run, study
from workings.studies.claim import Bounds
from workings.studies.index import entries, entry_of
from workings.studies.running.cache import cached_run, folder
from workings.studies.running.code import used_files
from workings.studies.running.skeleton import skeleton

SOURCES = Path(__file__).parents[3] / "src" / "workings"


@study()
def noise(seed: Seed = 0, broken: Literal["", "shifted"] = "") -> list[Part]:
    """Noise has mean zero."""
    x = torch.randn(5000) + (1.0 if broken else 0.0)
    return [judged("The mean is 0, within a fifth", x, Bounds(-0.2, 0.2))]


def test_the_same_seed_gives_the_same_result_and_disturbs_nobody():
    torch.manual_seed(5)
    before = torch.rand(1)
    torch.manual_seed(5)
    first, second, other = run(noise), run(noise), run(noise, {"seed": 1})
    assert torch.equal(torch.rand(1), before)
    assert first.claims == second.claims != other.claims


def test_a_kept_result_is_taken_once_more(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, known = cached_run(noise)
    again, known_now = cached_run(noise)
    assert (known, known_now) == (False, True) and again.json() == first.json()
    assert cached_run(noise, {"seed": 1})[1] is False and cached_run(noise, fresh=True)[1] is False
    assert cached_run(noise, controls=False)[1] is False
    (kept, *_) = sorted(folder().glob("noise-*.json"))
    kept.write_text(kept.read_text()[:100])  # damaged
    assert [cached_run(noise)[1], cached_run(noise, {"seed": 1})[1], cached_run(noise, controls=False)[1]].count(False) == 1
    assert all(json.loads(path.read_text())["name"] == "noise" for path in folder().glob("*.json"))


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "workings").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cached_run(noise)[1] is False and cached_run(noise)[1] is False


def test_lazy_names_and_imports_inside_functions_are_followed(tmp_path):
    own = tmp_path / "own.py"
    (tmp_path / "beside.py").write_text("x = 1\n")
    own.write_text("import beside\n\ndef f():\n    from workings.nn import softmax\n    return softmax\n")
    files = used_files(own)
    assert {own, tmp_path / "beside.py", SOURCES / "nn" / "temperature.py", SOURCES / "nn" / "__init__.py"} <= files
    assert SOURCES / "train" / "loop" / "loop.py" not in files
    own.write_text("import workings\n\ndef f():\n    return workings.nn.softmax\n")
    from workings.studies.running import code

    code._imports.cache_clear()
    assert SOURCES / "nn" / "temperature.py" in used_files(own)


def test_a_changed_module_is_another_checksum(tmp_path):
    import importlib.util

    from workings.studies.running import code

    def checksum() -> str:
        code._imports.cache_clear()
        spec = importlib.util.spec_from_file_location("own", own)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return code.code_of(module.f)

    own, beside = tmp_path / "own.py", tmp_path / "beside_it.py"
    own.write_text("def f():\n    import beside_it\n    return beside_it\n")
    beside.write_text("x = 1\n")
    before = checksum()
    assert checksum() == before
    beside.write_text("x = 2\n")
    assert checksum() != before


def test_the_index_is_what_is_registered():
    for entry in entries().values():
        made = entry.load()
        assert (made.name, made.title, made.rows, made.trains) == (entry.name, entry.title, entry.rows, entry.trains)


def test_an_unknown_study_suggests_the_nearest():
    with pytest.raises(WorkingsError, match=r"^There is no study 'key-nose'\. Did you mean key-noise\?$"):
        entry_of("key-nose")


def test_the_skeleton_runs_holds_and_can_fail(tmp_path):
    import importlib.util

    path = tmp_path / "my_claim.py"
    path.write_text(skeleton("my-claim"))
    spec = importlib.util.spec_from_file_location("my_claim", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    result = run(module.my_claim)
    assert result.verdict == "holds" and result.failing_controls(result.claims[0])
    with pytest.raises(WorkingsError, match="A study is called like a function, such as my-claim; got '2x'"):
        skeleton("2x")
