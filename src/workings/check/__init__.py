"""Find the wrong line in a worked solution.

    from workings.check import check

    for found in check("notes.md").findings():
        print(found.says, found.truth, found.why)

Rooms, each importing only from those before it: `document` (formulas, findings) · `latex` (mathematics → syntax tree) ·
`value` (tree → certified number) · `extract` (file → document) · `argument` (contexts, roles of relations, values) ·
`claims` (what is right or wrong, line by line) · `knowledge` (what a course knows) · `prose` (claims in words) · `report`
(text, HTML, JSON, CSV, SARIF) · `run` (one document, many, cached, watched). Names load when they are first used: the help
of the command line needs none of it.
"""

from workings.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
