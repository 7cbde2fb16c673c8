from workings.train.evaluation.open import open_run as open_run
from workings.train.loop.engine import fit as fit
from workings.train.loop.evaluator import History as History
from workings.train.run.run import Run as Run
from workings.train.settings import Training as Training
