"""The words that stand beside every fraction solved."""


def within(limit: int | None) -> str:
    """The step limit in words.

    Args:
        limit: Steps that an episode may take; `None` for as many as it needs.

    Example:
        >>> within(120), within(None)
        ('within 120 steps', 'without a step limit')
    """
    return "without a step limit" if limit is None else f"within {limit} steps"
