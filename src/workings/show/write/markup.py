"""Text that others wrote, made safe to stand in a page: a variable named <script> is text.

Everything that comes from a trace (names, source, files, tokens, notes, messages) passes through `escaped`; tags are only
ever written by the printers themselves.
"""

from __future__ import annotations

import html
import re

_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""What HTML forbids, half characters, and the marks that turn the direction of writing around."""


def escaped(text: object) -> str:
    """`text` for the inside of an element or a quoted attribute.

    >>> print(escaped('<b a="1">&'), escaped(chr(27) + "[31m"))
    &lt;b a=&quot;1&quot;&gt;&amp; ␛[31m
    """
    return html.escape(_UNSEEN.sub(_picture, str(text)), quote=True)


def element(tag: str, inner: str = "", **attributes: object) -> str:
    """An element whose inside is markup already; `class_` is written as class.

    >>> element("code", escaped("a < b"), class_="source")
    '<code class="source">a &lt; b</code>'
    """
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"' for key, value in attributes.items())
    return f"<{tag}{written}>{inner}</{tag}>"


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"
