"""What a person sees: the live line, plain lines, the report, the plot, TensorBoard."""

import io
import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
import torch
from torch import nn

from tests.train.loop.test_resume import go
from tests.train.tiny import Settings, Tiny, examples, loss
from workings.errors import WorkingsError
from workings.train import Run, Training, fit
from workings.train.loop.engine import train
from workings.train.process.progress import ProgressLines
from workings.train.run import metrics
from workings.train.run.report import STYLE, best_row, figures, report, samples


class Terminal(io.StringIO):
    def isatty(self):
        return True


def trained(stream, **given):
    settings = Settings(**{"steps": 20, "evaluate_every": 10, **given})
    torch.manual_seed(0)
    train(Tiny().task(settings), settings, progress=ProgressLines(stream))
    return stream.getvalue()


def test_plain_lines_when_not_a_terminal():
    said = trained(io.StringIO())
    row = r"step {}/20  loss \d\.\d+  train \d\.\d+  [\d.]+k? examples/s  \d:\d\d(  \*)?\n  \| 1 × 1 gives -?\d\.\d+ <&>\n"
    assert re.fullmatch(row.format(10) + row.format(20), said), said
    assert "\r" not in said and "\x1b" not in said


def test_one_live_line_on_a_terminal(monkeypatch):
    monkeypatch.setattr("workings.train.process.progress.REFRESH", -1.0)
    said = trained(Terminal())
    live = re.findall(r"\r\x1b\[Kstep (\d+)/20  loss \d\.\d+  [\d.]+k? examples/s  \d+:\d\d left", said)
    assert [int(step) for step in live] == list(range(1, 21))
    assert said.endswith("\r\x1b[K")  # nothing of it stays


def test_the_live_line_is_cut_to_the_terminal(monkeypatch):
    monkeypatch.setattr("workings.train.process.progress.REFRESH", -1.0)
    monkeypatch.setenv("COLUMNS", "30")
    lines = re.findall(r"\r\x1b\[K(step [^\r\n]*left|step [^\r\n]*)", trained(Terminal()))
    assert max(len(line) for line in lines if "gives" not in line and "*" not in line) <= 80
    assert any(len(line) == 29 for line in lines)


def test_the_line_by_hand():
    lines = ProgressLines(io.StringIO())
    lines.begin(100, 1100, "tokens")
    # 200 of 1,000 steps in 2 s: 800 more take 8 s
    assert lines.line(300, 1.7321, 12_300.0, lines.began + 2.0) == "step 300/1,100  loss 1.732  12.3k tokens/s  0:08 left"
    lines.begin(0, 1000, "tokens", limit=5.0)
    assert lines.line(100, 1.0, 1.0, lines.began + 2.0).endswith("  0:03 left")  # the time limit comes first


class Checking(HTMLParser):
    """Counts tags that are opened and not closed, and collects addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "path", "use", "line", "rect"):
            self.open.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def test_the_report_is_one_page_that_needs_no_other(tmp_path):
    go(tmp_path)
    path = report(Run(tmp_path), "finished")
    text = path.read_text()
    checking = Checking()
    checking.feed(text)
    assert checking.open == []
    assert all(address.startswith("#") for address in checking.addresses)
    assert "http" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)
    judged = [row for row in metrics.read(tmp_path / "metrics.jsonl") if "loss" in row]
    best = min(judged, key=lambda row: row["loss"])
    assert re.search(rf"30 steps in \d+:\d\d; best loss {best['loss']:.4g} at step {best['step']}; finished\.", text)
    assert text.count("<tr class=best>") == 1
    assert "gives" in text and "&lt;&amp;&gt;" in text and "<&>" not in text  # a sample is text, not tags
    assert "<dt>activation</dt><dd>tanh</dd>" in text and "<dt>torch</dt>" in text and "<dt>made</dt>" in text


def test_the_plot_is_a_picture(tmp_path):
    go(tmp_path)
    report(Run(tmp_path))
    assert ElementTree.parse(tmp_path / "loss.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")


def test_a_report_of_nothing(tmp_path):
    run = Run(tmp_path)
    run.begin("tiny", Settings(), Tiny().task(Settings()))
    assert "No evaluation yet." in report(run).read_text()


def test_many_figures_are_thinned_out_but_the_best_stays():
    judged = [{"step": i, "train": 1.0, "loss": abs(i - 17) + 1.0, "seconds": 1.0} for i in range(1, 101)]
    table = figures(judged, "loss", False)
    assert table.count("<tr") - 1 <= 14
    assert "<tr class=best><td>17</td>" in table and "<td>100</td>" in table
    assert best_row(judged, "loss", True)["step"] == 100
    assert samples([]) == ""
    shown = samples([{"step": step, "sample": "a"} for step in range(11)])
    assert re.findall(r"step (\d+)", shown) == ["0", "2", "4", "6", "8", "10"]


def test_what_is_no_number_is_not_the_best():
    nan, inf = float("nan"), float("inf")
    for losses in ([nan, 3.0, 2.0, nan], [3.0, nan, 2.0, inf], [2.0, nan], [nan, nan]):
        judged = [{"step": i, "train": 1.0, "loss": loss, "seconds": 1.0} for i, loss in enumerate(losses)]
        top = best_row(judged, "loss", False)
        assert top["loss"] == 2.0 or losses == [nan, nan]
        assert figures(judged, "loss", False).count("<tr class=best>") == 1
    judged = [{"step": i, "loss": loss} for i, loss in enumerate([nan, -inf, 1.0, inf, 0.5])]
    assert best_row(judged, "loss", True)["step"] == 2


def test_figures_that_are_no_numbers_are_drawn_around(tmp_path):
    losses = iter([float("nan"), 2.0, float("inf"), 1.0])
    data, settings = [examples(0, 4)], Training(steps=4, evaluate_every=1)
    fit(nn.Linear(2, 1), data, loss, settings=settings, folder=tmp_path, evaluate=lambda model: {"loss": next(losses)})
    assert "; best loss 1 at step 4; " in report(Run(tmp_path), "finished").read_text()


def test_long_words_do_not_leave_the_page():
    body = re.search(r"body \{.*?\}", STYLE, re.DOTALL)
    assert body and "overflow-wrap: anywhere" in body[0]  # inherited by samples, settings and the rest


def test_rows_after_a_step_are_dropped(tmp_path):
    path = tmp_path / "metrics.jsonl"
    for step in (1, 2, 2, 3):
        metrics.append(path, {"step": step})
    assert metrics.rewind(path, 2) == [{"step": 1}, {"step": 2}, {"step": 2}]
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 2}\n'
    assert metrics.rewind(tmp_path / "none.jsonl", 5) == []


def test_tensorboard_gets_the_figures(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    settings = Training(steps=4, evaluate_every=2, tensorboard=True)
    history = fit(nn.Linear(2, 1), [examples(0, 4)], loss, settings=settings, folder=tmp_path)
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    found = [(event.step, event.value) for event in events.Scalars("loss")]
    assert found == [(row["step"], pytest.approx(row["loss"])) for row in history.rows]


def test_tensorboard_that_is_missing_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(WorkingsError) as error:
        fit(nn.Linear(2, 1), [examples(0, 4)], loss, settings=Training(tensorboard=True), folder=tmp_path)
    assert str(error.value) == "TensorBoard is not installed: pip install tensorboard, or leave out tensorboard."
    with pytest.raises(WorkingsError) as error:
        fit(nn.Linear(2, 1), [examples(0, 4)], loss, settings=Training(tensorboard=True))
    assert str(error.value) == "tensorboard needs a folder to log to: fit(…, folder=…)."
