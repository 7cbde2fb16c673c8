"""The generated pages are those that the sources give now: `make docs` writes them."""

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
