"""Finding documents, and checking many at once: what one does, the others do not feel."""

import io
import os

import pytest

from tests.check.fake_work import fake
from workings.check.document.options import Options
from workings.check.run import files, workers
from workings.check.run.cache import Cache
from workings.check.run.files import bar, check_files, find
from workings.check.run.workers import Job, check_with_workers

MESSAGES = {
    "CRASH": "crash.md: the process that checked it ended by signal SIGKILL.",
    "SLOW": "slow.md: it takes longer than 1 s, the limit (--timeout). It was still being read: no claim was reached.",
    "DEEP": "deep.md is nested too deeply.",
    "REFUSED": "refused.md is refused.",
    "HUGE": "huge.md needs more than 2 GB of memory.",
}


@pytest.fixture(autouse=True)
def stand_in(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "check_job", fake)
    monkeypatch.chdir(tmp_path)


def write(path, text="fine"):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def names(*asked):
    return [job.name for job in find(asked).jobs]


def test_folders_are_searched_and_what_is_not_the_readers_is_left():
    for path in ["n/b.md", "n/a.tex", "n/deep/c.IPYNB", "n/d.txt", "n/e.py", "n/.hidden.md", "n/.venv/f.md"]:
        write(path)
    for path in ["n/node_modules/g.md", "n/env/pyvenv.cfg", "n/env/h.md"]:
        write(path)
    write("n/empty.md", "")
    assert names("n") == ["n/a.tex", "n/b.md", "n/d.txt", "n/deep/c.IPYNB"]
    assert names("n/.hidden.md", "n/e.py") == ["n/.hidden.md", "n/e.py"]  # named files are meant


def test_each_document_once():
    write("n/a.md")
    os.symlink("a.md", "n/z.md")
    os.symlink("n", "m")
    assert names("n/a.md", "n", "./n/a.md", "m") == ["n/a.md"]


def test_the_message_of_what_is_not_there():
    os.mkdir("n")
    found = find(["gone.md", "n"])
    assert [result.failure for result in found.failures] == [
        "There is no file gone.md.",
        "The folder n has no document (.md .tex .ipynb .txt).",
    ]
    assert not found.jobs


def test_the_order_is_the_one_asked_for():
    for i in range(6):
        write(f"{i}.md", f"WRONG {i}" + " " * 200_000 * (i == 0))
    results = check_files(["5.md", "0.md", "3.md", "gone.md", "1.md"], jobs=3)
    assert [result.name for result in results] == ["5.md", "0.md", "3.md", "1.md", "gone.md"]
    assert results[2].document.text == "WRONG 3"


def test_a_bad_document_ends_in_a_message_and_the_others_go_on():
    for word in MESSAGES:
        write(f"{word.lower()}.md", word)
    for i in range(3):
        write(f"good{i}.md", "so WRONG")
    asked = [*(f"{word.lower()}.md" for word in MESSAGES), "good0.md", "good1.md", "good2.md"]
    jobs = [Job(name, files.Path(name)) for name in asked]
    found = dict(check_with_workers(jobs, Options(), 2, 1, fake))
    assert [found[i].failure for i in range(len(MESSAGES))] == list(MESSAGES.values())
    assert [len(found[i].results.findings) for i in range(len(MESSAGES), len(jobs))] == [1, 1, 1]


def test_at_the_limit_of_time_what_was_found_is_handed_over():
    write("slow.md", "WRONG SLOW")
    write("good.md", "so WRONG")
    jobs = [Job(name, files.Path(name)) for name in ("slow.md", "good.md")]
    found = dict(check_with_workers(jobs, Options(), 1, 0.5, fake))
    assert found[0].failure == ""
    assert found[0].unfinished == (
        "slow.md: it takes longer than 0.5 s, the limit (--timeout). What was found until then is listed."
    )
    assert [len(found[i].results.findings) for i in range(2)] == [1, 1]  # the next document has a worker again


def test_a_worker_that_does_not_hear_its_alarm_is_ended(monkeypatch):
    monkeypatch.setattr(workers, "GRACE", 0.3)
    write("slow.md", "WRONG SLOW DEAF")
    [(_, result)] = check_with_workers([Job("slow.md", files.Path("slow.md"))], Options(), 1, 0.2, fake)
    assert result.failure == "slow.md: it takes longer than 0.2 s, the limit (--timeout)."


def test_the_checker_fills_its_report_as_it_goes(monkeypatch):
    seen = []

    def stop(argument):
        seen.append(len(argument.results.findings))
        raise MemoryError

    monkeypatch.setattr("workings.check.run.checker.claims_in_prose", stop)
    write("a.md", "So $1 + 1 = 3$.")
    job, progress = Job("a.md", files.Path("a.md")), workers.Progress()
    result = workers.result_or_failure(workers.check_job, job, Options(), progress)
    assert (seen, len(result.results.findings), len(result.relations)) == ([1], 1, 1)
    assert result.unfinished == "a.md needs more than 2 GB of memory. What was found until then is listed."


def test_a_document_that_was_not_checked_to_its_end_is_not_kept(tmp_path):
    write("slow.md", "WRONG SLOW")
    cache = Cache(tmp_path / "cache")
    check_files(["slow.md"], timeout=0.3, cache=cache)
    assert not cache.place.exists()


def test_files_of_a_folder_without_a_source_are_named():
    for path in ["n/a.md", "n/exam.PDF", "n/deep/scan.png", "n/.hidden.pdf", "n/code.py"]:
        write(path)
    assert find(["n"]).skipped == ["n/deep/scan.png", "n/exam.PDF"]
    assert find(["n/a.md"]).skipped == []


def test_a_mistake_of_the_checker_names_its_line():
    write("bug.md", "BUG")
    [result] = check_files(["bug.md"])
    assert result.failure.startswith(
        "bug.md: the checker failed, which is a bug in the checker: KeyError: 'lost' (fake_work.py"
    )


def test_the_options_reach_the_workers():
    write("a.md", "WRONG")
    assert check_files(["a.md"], Options(run_code=True))[0].results.findings[0].truth == "run"


def test_processes_that_are_started_anew_do_the_same(monkeypatch):
    monkeypatch.setattr(workers, "start_method", lambda: "spawn")
    write("a.md", "WRONG")
    assert len(check_files(["a.md"])[0].results.findings) == 1


def test_as_many_workers_as_pay():
    write("small.md")
    write("large.md", "x" * 100_000)
    small, large = Job("s", files.Path("small.md")), Job("l", files.Path("large.md"))
    assert files.workers([small] * 9, 8) == 1
    assert files.workers([large, small], 8) == 2  # no more than files
    assert files.workers([large] * 9, 8) == 8
    assert files.workers([large] * 9, 1) == 1
    assert files.workers([], None) == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_on_a_terminal_only():
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        draw = bar(4, stream)
        draw(1, "a\x1b.md")
        draw(-1, "")
    assert terminal.getvalue() == "\r\x1b[K━━━━━─────────────── 1/4  a�.md" + "\r\x1b[K"
    assert pipe.getvalue() == ""
    bar(1, terminal)(1, "one file has no bar")
    assert "one file" not in terminal.getvalue()
