"""Relational reasoning in Keras: layers, models, worlds and training of five papers.

Importing this package is light: TensorFlow, Keras and Ray are imported by the rooms that use them,
for example ``tf_relational.layers`` or ``tf_relational.rl``.
"""

__version__ = "0.1.0"
