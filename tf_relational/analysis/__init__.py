"""What the papers' figures show: from runs, models and episodes to pictures, tables and proofs."""

import importlib

_HOME = {
    "Episode": "episode",
    "EpisodeProof": "episode_proof",
    "Run": "runs",
    "ScriptedPlayer": "scripted_player",
    "SolveRate": "solve_rates",
    "agent_policy": "episode",
    "attention_of": "attention",
    "draw_evaluation": "evaluation_figure",
    "draw_mean_curves": "curves",
    "draw_simplicial_attention": "attention_figures",
    "draw_single_curves": "curves",
    "draw_standard_attention": "attention_figures",
    "draw_type_curves": "curves",
    "episode_gif": "gif",
    "make_figures": "figures",
    "play": "episode",
    "prove_boxes": "episode_proof",
    "prove_episode": "episode_proof",
    "read_run": "runs",
    "record": "episode",
    "solve_rate": "solve_rates",
    "verify": "linear_logic",
}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__():
    return __all__
