"""The command line of `run.py`: which experiment, which preset, what to do, which fields."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from pathlib import Path
from typing import Any

from tf_relational.experiments import registry
from tf_relational.experiments.errors import UserError, unknown

_USAGE = (
    "run.py --exp NAME [--preset NAME] [--mode MODE] [--resume RUN_DIR] [--FIELD VALUE ...]\n"
    "       run.py --list\n"
    "       run.py --exp NAME --help"
)


@dataclasses.dataclass(frozen=True)
class Request:
    """What a call asked for, with everything checked that can be checked before work starts.

    Attributes:
        mode: the mode's name.
        preset: the preset's name.
        config: the configuration: the preset's fields with the call's own on top.
        overrides: the fields that the call named itself, by name.
        runs: the run directories that the call named; empty for a new run.
        root: the folder under which new runs are made.
        checkpoint: which trained model is read: "best", "last", "all" or a number of frames.
    """

    mode: str
    preset: str
    config: Any
    overrides: dict[str, Any]
    runs: tuple[Path, ...]
    root: Path
    checkpoint: str


def main(arguments: list[str]) -> int:
    """Runs the command line and returns the exit code: 2 for a request that cannot be met.

    Example:
        >>> main(["--list"])  # doctest: +ELLIPSIS
        bridge_boxworld  ...
        0
    """
    try:
        return _main(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of a pipe left, as `run.py --help | head` does; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _main(arguments: list[str]) -> int:
    door, fields = _split(arguments)
    parser = _parser()
    options = parser.parse_args(door)
    if options.list:
        _print_list()
        return 0
    if options.exp is None:
        if options.help:
            parser.print_help()
            print("\nexperiments:")
            _print_list(indent="  ")
            return 0
        raise UserError(f"--exp is missing. Experiments: {', '.join(registry.names())}")
    experiment = registry.get(options.exp)
    preset = options.preset or experiment.default_preset
    defaults = experiment.preset(preset)
    if options.help:
        return _print_fields(experiment, preset, defaults)
    if options.mode not in experiment.modes:
        raise unknown(f"mode of {experiment.name}", options.mode, experiment.modes)
    config = _parse_fields(experiment, defaults, fields)
    request = Request(
        mode=options.mode,
        preset=preset,
        config=config,
        overrides={name: getattr(config, name) for name in _named(experiment, fields)},
        runs=tuple(map(Path, options.run)),
        root=Path(options.out),
        checkpoint=options.checkpoint or "best",
    )
    _refuse_idle_options(options, request)
    return experiment.mode(options.mode)(experiment, request)


def _refuse_idle_options(options: argparse.Namespace, request: Request) -> None:
    """Refuses options that would change nothing, so that nobody believes they did."""
    train, old = request.mode == "train", bool(request.runs) or request.mode != "train"
    idle = {
        "--preset is for a new run; an old one has its settings in its config.json": old
        and options.preset,
        "--checkpoint is for --mode evaluate and export": options.checkpoint
        and request.mode not in ("evaluate", "export"),
        "--seeds replaces --seed: give one of the two": train
        and {"seed", "seeds"} <= set(request.overrides),
    }
    for words, given in idle.items():
        if given:
            raise UserError(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run.py", usage=_USAGE, add_help=False, allow_abbrev=False,
        description="Trains, evaluates, draws and exports the experiments of tf_relational.",
    )  # fmt: skip
    parser.add_argument("--exp", metavar="NAME", help="the experiment")
    parser.add_argument("--preset", metavar="NAME", help="paper, laptop (default) or smoke")
    parser.add_argument("--mode", metavar="MODE", default="train", help="train (default), "
                        "evaluate, figures or export")  # fmt: skip
    parser.add_argument("--resume", "--run", dest="run", metavar="RUN_DIR", nargs="+", default=[],
                        help="an existing run: train continues it, the other modes read it "
                        "(default there: the newest; figures takes several)")  # fmt: skip
    parser.add_argument("--checkpoint", metavar="WHICH",
                        help="the model that evaluate and export read: best (default), last, a "
                        "number of frames, or all (evaluate only)")  # fmt: skip
    parser.add_argument("--out", metavar="DIR", default="runs", help="where runs are made and "
                        "looked for (default: runs)")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--help", "-h", action="store_true",
                        help="with --exp: the experiment's fields")  # fmt: skip
    return parser


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Parts the door's own options, with their values, from an experiment's fields."""
    flags = {
        flag
        for action in _parser()._actions
        for flag in action.option_strings
    }  # fmt: skip
    door: list[str] = []
    fields: list[str] = []
    target = fields
    for word in arguments:
        if word.startswith("-") and not _is_number(word):
            target = door if word.split("=", 1)[0] in flags else fields
        target.append(word)
    return door, fields


def _parse_fields(experiment: registry.Experiment, defaults: Any, fields: list[str]) -> Any:
    import tyro

    return tyro.cli(
        experiment.config,
        default=defaults,
        args=fields,
        prog=f"run.py --exp {experiment.name}",
    )


def _named(experiment: registry.Experiment, fields: list[str]) -> list[str]:
    words = {
        word.split("=", 1)[0].lstrip("-").replace("-", "_").removeprefix("no_")
        for word in fields
        if word.startswith("--")
    }
    return [field.name for field in dataclasses.fields(experiment.config) if field.name in words]


def _print_fields(experiment: registry.Experiment, preset: str, defaults: Any) -> int:
    import tyro

    _parser().print_help()
    print(f"\n{experiment.name}: {experiment.summary}")
    print(f"modes: {', '.join(experiment.modes)}")
    print(f"presets: {', '.join(experiment.presets)}; the defaults below are those of {preset}\n")
    try:
        tyro.cli(
            experiment.config,
            default=defaults,
            args=["--help"],
            prog=f"run.py --exp {experiment.name}",
        )
    except SystemExit as exit:
        return int(exit.code or 0)
    return 0


def _print_list(indent: str = "") -> None:
    names = registry.names()
    width = max(map(len, names))
    for name in names:
        print(f"{indent}{name:{width}}  {registry.get(name).summary}")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
