"""Training: one loop for every model, recipes by name, runs that resume exactly.

    settings, task   what can be set; what is trained              process   distribution, signals, random numbers, progress
    data             data sets and files of one's own              run       a run on disk: checkpoints, figures, report
    recipe           a recipe, and a run of one opened for use     loop      the training loop
    text             tokens, vocabularies, language models         capabilities   what a recipe can do beyond training
    tasks            the mathematics of each recipe                recipes   one per file, and the table of them
    evaluation       what a finished run is worth

Each imports only from those before it. Names load when they are first used: the help of the command line needs no PyTorch.
"""

from typing import TYPE_CHECKING

from workings.lazy import lazy

if TYPE_CHECKING:
    from workings.train.evaluation.open import open_run as open_run
    from workings.train.loop.engine import fit as fit
    from workings.train.loop.evaluator import History as History
    from workings.train.run.run import Run as Run
    from workings.train.settings import Training as Training

__all__ = lazy(
    __name__,
    {
        "evaluation.open": "open_run",
        "loop.engine": "fit",
        "loop.evaluator": "History",
        "run.run": "Run",
        "settings": "Training",
    },
)
