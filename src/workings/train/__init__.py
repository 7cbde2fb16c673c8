"""Training: one loop for every model, recipes by name, runs that resume exactly.

    settings, task   what can be set; what is trained              process   distribution, signals, random numbers, progress
    data             data sets and files of one's own              run       a run on disk: checkpoints, figures, report
    recipe           a recipe, and a run of one opened for use     loop      the training loop
    text             tokens, vocabularies, language models         capabilities   what a recipe can do beyond training
    tasks            the mathematics of each recipe                recipes   one per file, and the table of them
    evaluation       what a finished run is worth

Each imports only from those before it. Names load when they are first used: the help of the command line needs no PyTorch.
"""

from workings.lazy import lazy

__getattr__, __dir__, __all__ = lazy(__name__)
