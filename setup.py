"""What pyproject.toml cannot say: ``datasets/`` is installed as ``tf_relational.datasets``.

As a top-level package it would overwrite Hugging Face's ``datasets`` in site-packages.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["tf_relational*", "rllib_configs*"]),
        *(f"tf_relational.datasets.{name}" for name in find_packages("datasets")),
    ],
    package_dir={"tf_relational.datasets": "datasets"},
)
