"""The Relations Game: small pictures of coloured objects, and whether a relation holds among them.

The generator is NumPy alone. TensorFlow is imported when a ``tf.data`` data set is asked for, and
TensorFlow Datasets by ``import tf_relational.datasets.relations_game.builder``.

Source: An Explicitly Relational Neural Network Architecture, section 3 and Figure 2.
"""

from .generator import block_rng, generate
from .judge import judge
from .object_sets import OBJECT_SETS, object_set
from .originals import read_npz, read_original
from .stream import from_arrays, stream
from .tasks import TASK_GROUPS, TASKS, resolve

__all__ = [
    "OBJECT_SETS",
    "TASKS",
    "TASK_GROUPS",
    "block_rng",
    "from_arrays",
    "generate",
    "judge",
    "object_set",
    "read_npz",
    "read_original",
    "resolve",
    "stream",
]
