"""A page that needs nothing else: its font, style and script stand in it, and it forbids itself every request.

The Content-Security-Policy names the one style and the one script by their hashes; pictures and the font are data in the
page. Text of others must be escaped before it comes here.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from html import escape
from importlib.resources import files

from workings.checksum import source_hash


def document(title: str, body: str, style: str, script: str) -> str:
    """The page around `body`; the script is an ES module.

    >>> page = document("a < b", "<main>1</main>", "", "")
    >>> "<title>a &lt; b</title>" in page, "@font-face" in page
    (True, False)
    """
    style = _shared_style(body) + style
    policy = (
        f"default-src 'none'; style-src {source_hash(style)}; script-src {source_hash(script)}; "
        "img-src data:; font-src data:; base-uri 'none'; form-action 'none'"
    )
    head = (
        '<meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{style}</style>"
    )
    page = f'<head>{head}</head><body class="workings page">{body}<script type="module">{script}</script></body>'
    return f'<!doctype html>\n<html lang="en">{page}</html>\n'


def cell(body: str, style: str) -> str:
    """HTML for the output of a notebook's cell. Its style and font are in it, and no script: notebooks may forbid them.

    >>> cell("<p>1</p>", "p {}").startswith('<div class="workings"><style>')
    True
    """
    return f'<div class="workings"><style>{_shared_style(body)}{style}</style>{body}</div>'


def _shared_style(body: str) -> str:
    """The font, where the page has mathematics, and the tokens: colours, sizes, fonts."""
    return (_font() if "<math" in body else "") + asset("workings.page", "tokens.css")


def asset(package: str, name: str) -> str:
    return (files(package) / "assets" / name).read_text(encoding="utf-8")


@cache
def _font() -> str:
    """Brackets grow only in a font that has their pieces, which not every system has."""
    data = b64encode((files("workings.page") / "assets" / "workings-math.woff2").read_bytes()).decode()
    return f'@font-face {{ font-family: "Workings Math"; src: url(data:font/woff2;base64,{data}) format("woff2"); }}\n'
