"""What the printers print, in files: `python tests/golden/record.py` writes them anew, `git diff` shows what changed.

The worked systems of `systems.py` are captured from code and printed in four notations; the traces of `examples.py` are made
by hand, one for each thing a printer must do.
"""

import importlib.util
import re
from pathlib import Path

from workings.show.options import Options
from workings.show.printers.html import solution
from workings.show.printers.latex import latex
from workings.show.printers.markdown import markdown
from workings.show.printers.text import text

HERE = Path(__file__).parent
DEPTHS = {"nested": (1, 2, 3)}


def load(name):
    """A file of this folder as a module."""
    spec = importlib.util.spec_from_file_location(f"golden_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def html(trace, options):
    """The page without style and script, an element a line; pictures, which have tests of their own, are left out."""
    body = re.sub(r"<svg.*?</svg>", "<svg>…</svg>", solution(trace, options, "Workings"), flags=re.DOTALL)
    return re.sub(r"(?<=>)(?=<(main|nav|header|h1|ol|ul|li|div|p|details|table|/ol|/ul|/li|/details|/main)\b)", "\n", body)


PRINTERS = {"txt": text, "tex": latex, "md": markdown, "html": html}
SYSTEMS, BY_HAND = load("systems").SYSTEMS, load("examples").EXAMPLES
EXAMPLES = SYSTEMS | BY_HAND


def outputs(example):
    """The files of an example: their names and what stands in them."""
    trace = EXAMPLES[example]()
    for kind, printer in PRINTERS.items():
        if kind == "html" and example not in SYSTEMS:
            continue
        for depth in DEPTHS.get(example, (None,)):
            name = f"{example}{depth if example in DEPTHS else ''}.{kind}"
            yield name, printer(trace, Options(depth=depth)).rstrip("\n") + "\n"


def main():
    for example in EXAMPLES:
        for name, content in outputs(example):
            (HERE / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
