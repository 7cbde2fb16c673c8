"""What the printers print, in files: `python tests/golden/record.py` writes them anew, `git diff` shows what changed."""

import importlib.util
from pathlib import Path

from workings.show.latex import latex
from workings.show.markdown import markdown
from workings.show.options import Options
from workings.show.text import text

HERE = Path(__file__).parent
PRINTERS = {"txt": text, "tex": latex, "md": markdown}
DEPTHS = {"nested": (1, 2, 3)}


def load(name):
    """A file of this folder as a module."""
    spec = importlib.util.spec_from_file_location(f"golden_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLES = load("examples").EXAMPLES


def outputs(example):
    """The files of an example: their names and what stands in them."""
    for kind, printer in PRINTERS.items():
        for depth in DEPTHS.get(example, (1,)):
            name = f"{example}{depth if example in DEPTHS else ''}.{kind}"
            yield name, printer(EXAMPLES[example](), Options(depth=depth)).rstrip("\n") + "\n"


def main():
    for example in EXAMPLES:
        for name, content in outputs(example):
            (HERE / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
