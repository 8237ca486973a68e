"""From the authors' own arrays to this library's layers and models."""

from tf_relational.compat.published import KINDS, load_published, published_variables

__all__ = ["KINDS", "load_published", "published_variables"]
