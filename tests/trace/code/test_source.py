"""Finding a definition again in its source file."""

import importlib.util

import torch

from workings.show import show

AT_THE_MARGIN = '''
class Scale:
    def forward(self, x):
        """
What it does stands at the margin.
        """
        y = 2 * x
#        print(y)
        return y + 1
'''


def author(tmp_path):
    path = tmp_path / "author_of_scale.py"
    path.write_text(AT_THE_MARGIN)
    spec = importlib.util.spec_from_file_location("author_of_scale", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Scale()


def test_a_comment_or_a_text_at_the_margin_hides_nothing(tmp_path):
    work = show(author(tmp_path).forward, torch.ones(2))
    assert [(s.source, s.where.line) for s in work.steps() if s.where] == [("y = 2 * x", 7), ("return y + 1", 9)]
    assert work.matches
