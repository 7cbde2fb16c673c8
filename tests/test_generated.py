"""The generated pages are those that the sources give now: `make docs` writes them."""

import re

import pytest

from tools import api_table, draw_plan, operations_table, plan

ROOT = plan.SOURCES.parent


@pytest.mark.parametrize(
    ("file", "make"),
    [
        ("docs/api.md", api_table.table),
        ("docs/operations.md", operations_table.table),
        ("docs/architecture.svg", draw_plan.drawing),
    ],
    ids=["api", "operations", "architecture"],
)
def test_a_generated_page_is_up_to_date(file, make):
    assert (ROOT / file).read_text(encoding="utf-8") == make(), "run `make docs`"


@pytest.mark.parametrize("package", api_table.PACKAGES)
def test_every_public_name_has_a_line(package):
    assert {name for name, value in api_table.public(package).items() if not api_table.summary(value)} == set()


def test_the_stations_of_the_walks_exist():
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    files = re.findall(r"`([\w/]+/\w+\.py)`", text)
    assert len(files) > 40
    assert [file for file in files if not any((ROOT / base / file).exists() for base in ("src/workings", "."))] == []
