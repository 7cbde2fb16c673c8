"""A stand-in for the checker: every `WRONG` in a document is a finding, and some words make it misbehave."""

import os
import re
import signal
import time

from workings.check.document.document import Document
from workings.check.document.finding import Counts, Finding, Results, Unread
from workings.check.document.relation import Relation
from workings.check.report.report import Report
from workings.errors import WorkingsError

OUTCOMES = {
    None: ("right", ""),
    "WRONG": ("wrong", ""),
    "THEN": ("follows", ""),
    "LEFT": ("undecided", "letters without a value"),
    "DEF": ("no claim", ""),
}
LEVEL = {"WRONG": "error", "DOUBTFUL": "likely", "ROUNDED": "note", "ODD": "possible"}


def fake(job, options, progress=None):
    text = job.path.read_bytes().decode("utf-8")
    if "CRASH" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "DEAF" in text:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    if "SLOW" in text:
        if "WRONG" in text:
            progress.so_far = lambda: checked(job.name, text)
        time.sleep(60)
    if "HUGE" in text:
        return Report(job.name, Document(job.name, "x" * (3 << 30), "text"))
    if "DEEP" in text:
        raise RecursionError
    if "REFUSED" in text:
        raise WorkingsError(f"{job.path} is refused.")
    if "BUG" in text:
        raise KeyError("lost")
    return Report(job.name, Document(job.name, text, "markdown"), report(text, "run" if options.run_code else "12/7"))


def report(text, truth="12/7"):
    findings = []
    for word, level in LEVEL.items():
        start = text.find(word)
        while start >= 0:
            findings.append(Finding(start, start + len(word), level, "number", word, truth, "It is not so.", "log is ln"))
            start = text.find(word, start + 1)
    start = text.find("UNREAD")
    unread = [Unread(start, start + 6, "Nobody can read it.")] if start >= 0 else []
    return Results(findings, unread, relations(text), Counts(len(text.split()), len(unread)))


def relations(text):
    """Each `name = value` of the text: right, unless it is marked with one of the words of `OUTCOMES` behind it."""
    found, cause = [], -1
    for match in re.finditer(r"(\S+ = \S+)(?: (WRONG|THEN|LEFT|DEF))?", text):
        outcome, reason = OUTCOMES[match[2]]
        role = "definition" if match[2] == "DEF" else "claim"
        cause = match.start(2) if match[2] == "WRONG" else cause
        values = "a = 6 (line 1)" if match[2] == "THEN" else ""
        end = match.end(2) if match[2] == "WRONG" else match.end(1)
        found.append(
            Relation(
                match.start(), end, match[1], role, "an equality sign", outcome, reason, values,
                cause if match[2] == "THEN" else -1,
            )
        )  # fmt: skip
    return found


def checked(name, text, **fields):
    return Report(name, Document(name, text, "markdown", **fields), report(text))
