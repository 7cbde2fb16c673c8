"""Find the wrong line in a worked solution.

    from workings.check import check

    for found in check("notes.md").findings():
        print(found.says, found.truth, found.why)

Rooms, each importing only from those before it: `document` (formulas, findings) · `latex` (mathematics → syntax tree) ·
`value` (tree → certified number) · `extract` (file → document) · `claims` (what a document says, line by line) · `knowledge`
(what a course knows) · `prose` (claims in words) · `run` (one document, many, cached, watched) · `report` (text, HTML, JSON,
SARIF). Names load when they are first used: the help of the command line needs none of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workings.check.document.checked import Checked as Checked
    from workings.check.document.finding import Finding as Finding
    from workings.check.run.checker import check as check
    from workings.check.run.files import check_files as check_files

__all__ = ["Checked", "Finding", "check", "check_files"]

_HOMES = {
    "Checked": "document.checked",
    "Finding": "document.finding",
    "check": "run.checker",
    "check_files": "run.files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'workings.check' has no attribute {name!r}")
    value = getattr(import_module(f"workings.check.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
