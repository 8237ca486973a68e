"""Agents by name."""

from tf_relational.models.relational_agent import RelationalAgent
from tf_relational.models.simplicial_agent import SimplicialAgent

AGENTS = {"relational": RelationalAgent, "simplicial": SimplicialAgent}


def build_agent(name, **options):
    """An agent from its name.

    Args:
        name: a name in `AGENTS`.
        options: the constructor's arguments.

    Raises:
        ValueError: an unknown name.

    Example:

    >>> type(build_agent("simplicial", num_virtual=3)).__name__
    'SimplicialAgent'
    """
    if name not in AGENTS:
        raise ValueError(f"An agent is one of {sorted(AGENTS)}; received {name!r}.")
    return AGENTS[name](**options)
