"""Draw the house: floors, packages, rooms and what each package imports, from the import graph.

Example: python tools/draw_plan.py docs/architecture.svg
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools import plan

WIDTH, MARGIN, GAP, LINE, PAD = 980, 16, 12, 20, 12
LETTER = 7.3
"""The width of a letter of the rooms' names, in pixels."""
SAYS = {
    "cli": "one file per verb",
    "check": "a document → verdicts, line by line",
    "train": "loop, recipes, data, checkpoints, evaluation",
    "course": "the course's exercises as functions",
    "models": "one model per file",
    "show": "one printer per output",
    "nn": "one family of layers per file",
    "trace": "what happened, as data",
    "exact": "tensors of exact and symbolic values",
    "equations": "the textbook: one equation a line",
}
STYLE = """
text { font: 13px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
.name { font-weight: 600; font-size: 15px }
.quiet { fill: #59636e }
.room { font: 12px ui-monospace, monospace }
.package { fill: #ffffff; stroke: #8c959f }
.chip { fill: #eef1f4; stroke: none }
.paper { fill: #f6f8fa }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .quiet { fill: #9198a1 } .paper { fill: #0d1117 } .package { fill: #151b23; stroke: #656c76 }
  .chip { fill: #262c36 }
}
"""


def packages(floor: str) -> list[str]:
    """The packages of a floor that exist."""
    return [name for name in floor.split() if any(module.split(".")[1:2] == [name] for module in plan.modules())]


def rooms(package: str) -> list[tuple[str, int]]:
    """The rooms of a package in the order of the plan, each with how many files it has."""
    inside = [module.split(".")[2:] for module in plan.modules() if module.startswith(f"workings.{package}.")]
    folders = {parts[0] for parts in inside if len(parts) > 1}
    files = Counter(parts[0] if len(parts) > 1 else "" for parts in inside if len(parts) > 1 or parts[0] not in folders)
    order = plan.ROOMS.get(package, "").split()
    named = sorted(folders, key=lambda room: (order.index(room) if room in order else len(order), room))
    return [(f"{room}/", files[room]) for room in named] + ([("files", files[""])] if files[""] else [])


def uses() -> dict[str, list[str]]:
    """What each package imports, from the top of the house down."""
    found: dict[str, set[str]] = defaultdict(set)
    for a, b in plan.edges():
        if a.count(".") and b.count("."):
            found[a.split(".")[1]].add(b.split(".")[1])
    height = {part: plan.floor_of(f"workings.{part}") or 0 for floor in plan.FLOORS[plan.GROUND :] for part in floor.split()}
    below = {name: (others & height.keys()) - {name} for name, others in found.items()}
    return {name: sorted(others, key=lambda part: (-height[part], part)) for name, others in below.items()}


def chips(package: str, x: float, y: float, width: float) -> tuple[list[str], float]:
    """The rooms as a flow of chips, and the y below them."""
    drawn, at = list[str](), x
    for name, count in rooms(package):
        wide = len(f"{name} {count}") * LETTER + 14
        if at + wide > x + width:
            at, y = x, y + LINE + 6
        drawn.append(f'<rect class="chip" x="{at:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{LINE}" rx="4"/>')
        drawn.append(
            f'<text class="room" x="{at + 7:.0f}" y="{y + 14:.0f}">{escape(name)} '
            f'<tspan class="quiet">{count}</tspan></text>'
        )
        at += wide + 6
    return drawn, y + (LINE if drawn else 0)


def package_box(package: str, x: float, y: float, width: float, imports: list[str]) -> tuple[list[str], float]:
    """One package: its name, what it is, its rooms, what it imports; and the y below it."""
    inside = [
        f'<text class="name" x="{x + PAD:.0f}" y="{y + 22:.0f}">{package}/ '
        f'<tspan class="quiet" font-weight="400" font-size="13">{escape(SAYS.get(package, ""))}</tspan></text>'
    ]
    drawn, below = chips(package, x + PAD, y + 34, width - 2 * PAD)
    below = below if drawn else y + 28
    names = f"imports {', '.join(imports)}" if imports else "imports no other package"
    inside += [*drawn, f'<text class="quiet" x="{x + PAD:.0f}" y="{below + 20:.0f}">{names}</text>']
    box = f'<rect class="package" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{below + 30 - y:.0f}" rx="8"/>'
    return [box, *inside], below + 30


def drawing() -> str:
    """The whole house as SVG, the roof on top."""
    y, body, imports = float(MARGIN), list[str](), uses()
    for floor in reversed(plan.FLOORS[plan.GROUND :]):
        names = packages(floor)
        if not names:
            continue
        width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
        bottoms = []
        for i, name in enumerate(names):
            drawn, bottom = package_box(name, MARGIN + i * (width + GAP), y, width, imports.get(name, []))
            body += drawn
            bottoms.append(bottom)
        y = max(bottoms) + GAP
    ground = " · ".join(f"{name}.py" for floor in plan.FLOORS[: plan.GROUND] for name in floor.split())
    body.append(f'<text class="room quiet" x="{MARGIN + PAD}" y="{y + 10:.0f}">{ground}</text>')
    height = y + 26
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" '
        f'role="img" aria-label="The packages of workings, floor by floor">\n<style>{STYLE}</style>\n'
        f'<rect class="paper" width="{WIDTH}" height="{height:.0f}" rx="10"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(drawing(), encoding="utf-8")
