"""What README.md and docs/ show is what happens.

- ```python blocks run, top to bottom; the blocks of one file share their names.
- A ```text or ```output block right after a ```python block is exactly what that block prints.
- In ```console blocks, each `$ workings …` runs and prints what stands under it.
"""

import contextlib
import io
import re
import shlex
from itertools import pairwise
from typing import Any

import pytest

from tests.cli.command import workings
from tools.docs_blocks import DOCUMENTS, ROOT, Block, blocks


def check_python(document: list[Block], name: str) -> dict[str, Any]:
    """Run the Python blocks of a document and compare what they print with what follows them; gives their names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block, following in pairwise([*document, None]):
        if block.language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.text, name, "exec"), names)
        if following and following.adjoins and following.language in ("text", "output"):
            assert printed.getvalue() == following.text, f"{name}, line {following.line}"
    return names


def commands(console: str) -> list[tuple[str, str]]:
    """Each `$ command` of a console block with the output shown under it."""
    return re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", console, re.MULTILINE)


def shown_commands() -> list[tuple[str, str]]:
    """Each `workings` command that a document shows, with its output."""
    return [
        (command, output)
        for path in DOCUMENTS
        for block in blocks(path.read_text(encoding="utf-8"))
        if block.language == "console"
        for command, output in commands(block.text)
        if command.startswith("workings ")
    ]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_python_blocks_run_and_print_what_is_shown(path):
    check_python(blocks(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT)))


@pytest.mark.parametrize(("command", "output"), shown_commands())
def test_commands_print_what_is_shown(command, output):
    arguments = shlex.split(command)[1:]
    done = workings(*arguments)
    assert done.stdout + done.stderr == output


EXAMPLE = """\
```python
x = 6
```
words
```python
print(x * 7)
```

```output
42
```
"""


def test_blocks_share_their_names():
    check_python(blocks(EXAMPLE), "example")


def test_another_output_is_noticed():
    with pytest.raises(AssertionError, match="example, line 9"):
        check_python(blocks(EXAMPLE.replace("42", "43")), "example")


def test_a_block_behind_words_is_no_output():
    check_python(blocks(EXAMPLE.replace("```output\n42", "words\n```output\n43")), "example")


def test_commands_are_found_with_their_output():
    assert commands("$ workings a\n1\n2\n$ make\n$ workings b\n3\n") == [
        ("workings a", "1\n2\n"),
        ("make", ""),
        ("workings b", "3\n"),
    ]
