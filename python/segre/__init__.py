"""Joint distributions of many categorical variables: learn them from data, sample, complete, score, find outliers.

>>> import numpy as np
>>> import segre
>>> sky = np.random.default_rng(0).integers(0, 3, 2000)
>>> model = segre.fit({"sky": sky, "wet": sky == 2}, config={"train.steps": 300}, progress=False)
>>> model
Model(table of 2 variables with 2 to 3 labels; mixture of 128 products, step 300)

A table is a pandas DataFrame or a mapping of columns; sequences and images are arrays of integers, of NumPy or torch;
any source of the command line is a text, such as ``"csv:visits.csv?bins=auto"`` or ``"glyphs"``.
"""

from . import _libtorch

_libtorch.load()

from . import nn, train  # noqa: E402
from ._evaluation import Evaluation, evaluate  # noqa: E402
from ._fit import fit, plan  # noqa: E402
from ._model import Model, Scores, load  # noqa: E402
from ._oracle import Oracle  # noqa: E402
from ._sources import data  # noqa: E402
from .nn import Field, Space  # noqa: E402
from ._core import release as _release  # noqa: E402

__version__: str = _release()
__all__ = [
    "Evaluation", "Field", "Model", "Oracle", "Scores", "Space",
    "data", "evaluate", "fit", "load", "nn", "plan", "train",
]  # fmt: skip
