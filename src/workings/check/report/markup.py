"""Text that others wrote, made safe to stand in a page."""

from __future__ import annotations

import html
import re

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""What HTML forbids, half characters, and the marks that turn the direction of writing around."""


def escaped(words: object) -> str:
    """Words for the inside of an element or a quoted attribute.

    >>> escaped('<b a="1">')
    '&lt;b a=&quot;1&quot;&gt;'
    """
    return html.escape(_UNSEEN.sub("\ufffd", str(words)), quote=True)
