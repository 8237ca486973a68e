"""Save an algorithm so that a kill leaves no half checkpoint, and restore it only when whole."""

import hashlib
import json
import os
import pathlib
import re
import shutil

FORMAT = "tf_relational checkpoint"
VERSION = 1
MANIFEST = "manifest.json"


class CheckpointError(RuntimeError):
    """A checkpoint cannot be restored: it is missing, foreign, truncated, or of another agent."""


def save(algo, directory, keep=3, extra=None):
    """Save `algo` as `directory/<training iteration>`, whole or not at all.

    Everything is written to a hidden folder beside, checksums last, and then renamed. The folder
    holds what `algo.save_to_path` writes, with `agent.keras`, the bare model, and `manifest.json`:
    of a `KerasIMPALA` an RLlib checkpoint (weights, optimizer slots, counters, curriculum), which
    `Algorithm.from_checkpoint` reads.

    Args:
        algo: a `KerasIMPALA`, or a `Snapshot` of the compiled trainer.
        directory: where the run's checkpoints lie; made if missing.
        keep: how many of the newest to keep, or None for all.
        extra: JSON-serialisable data to keep with it.

    Returns:
        The `pathlib.Path` of the checkpoint.

    Raises:
        ValueError: `keep` is less than 1.
    """
    if keep is not None and keep < 1:
        raise ValueError(f"checkpoints.save: `keep` must be None or at least 1; received {keep}.")
    directory = pathlib.Path(directory).resolve()
    directory.mkdir(parents=True, exist_ok=True)
    for stale in directory.glob(".*.tmp"):
        shutil.rmtree(stale)
    final = directory / f"{algo.training_iteration:06d}"
    new, old = directory / f".{final.name}.tmp", directory / f".{final.name}.old.tmp"
    algo.save_to_path(str(new))
    frames = algo.frames()
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "iteration": algo.training_iteration,
        "env_steps_sampled": frames["sampled"],
        "env_steps_trained": frames["trained"],
        "engine": algo.engine,
        **_shapes(algo),
        "files": {
            path.relative_to(new).as_posix(): {
                "size": path.stat().st_size,
                "sha256": _sha256(path),
            }
            for path in sorted(new.rglob("*"))
            if path.is_file()
        },
        "extra": extra,
    }
    with open(new / MANIFEST, "w") as file:
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    if final.exists():
        final.rename(old)
    new.rename(final)
    shutil.rmtree(old, ignore_errors=True)
    if keep is not None:
        prune(directory, keep)
    return final


def prune(directory, keep):
    """Remove all but the newest `keep` checkpoints of a directory."""
    for outdated in complete(directory)[:-keep]:
        shutil.rmtree(outdated)


def latest(directory):
    """Return the path of the newest checkpoint that `save` finished in `directory`, or None."""
    found = complete(directory)
    return found[-1] if found else None


def restore(algo, path):
    """Restore `algo` from a checkpoint of `save`, after checking all of it.

    Args:
        algo: a `KerasIMPALA`, or a `Snapshot` of the compiled trainer, with the same agent and
            optimizer.
        path: a checkpoint, or a directory of them, of which the newest is taken.

    Returns:
        The manifest: a dict with `iteration`, `env_steps_sampled`, `env_steps_trained`, `extra`
        and what was checked.

    Raises:
        CheckpointError: the checkpoint is missing, not one of `save`, incomplete, altered, or does
            not fit the algorithm's model or optimizer. The algorithm is then as it was.
    """
    path = pathlib.Path(path).resolve()
    if path.is_dir() and not (path / MANIFEST).exists():
        path = latest(path) or path
    manifest = read_manifest(path)
    for name, expected in manifest["files"].items():
        file = path / name
        if not file.is_file():
            raise CheckpointError(f"the checkpoint {path} is incomplete: {name} is missing.")
        size = file.stat().st_size
        if size != expected["size"]:
            raise CheckpointError(
                f"the checkpoint {path} is truncated or altered: {name} has {size} bytes, "
                f"expected {expected['size']}."
            )
        if _sha256(file) != expected["sha256"]:
            raise CheckpointError(
                f"the checkpoint {path} is altered: the contents of {name} do not match its "
                "checksum."
            )
    engine = manifest.get("engine", "rllib")
    if engine != algo.engine:
        raise CheckpointError(
            f"the checkpoint {path} is of the engine {engine!r}, not of {algo.engine!r}."
        )
    have = _shapes(algo)
    for part in ("model", "optimizer"):
        if manifest[part] != have[part]:
            raise CheckpointError(
                f"the checkpoint {path} is of another {part}: it holds {_brief(manifest[part])}, "
                f"the algorithm has {_brief(have[part])}."
            )
    algo.restore_from_path(str(path))
    return manifest


def read_manifest(path):
    """Return the manifest of a checkpoint without restoring anything.

    Raises:
        CheckpointError: there is no checkpoint of `save` at `path`.
    """
    path = pathlib.Path(path)
    if not path.is_dir():
        raise CheckpointError(f"there is no checkpoint at {path}.")
    try:
        manifest = json.loads((path / MANIFEST).read_text())
    except FileNotFoundError:
        raise CheckpointError(
            f"{path} is not a checkpoint of tf_relational: it has no {MANIFEST}."
        ) from None
    except ValueError as error:
        raise CheckpointError(
            f"the checkpoint {path} is truncated: {MANIFEST} is not JSON."
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise CheckpointError(f"{path} is not a checkpoint of tf_relational: see its {MANIFEST}.")
    if manifest.get("version") != VERSION:
        raise CheckpointError(
            f"the checkpoint {path} has version {manifest.get('version')}; this program reads "
            f"version {VERSION}."
        )
    missing = {"files", "model", "optimizer", "extra"} - set(manifest)
    if missing:
        raise CheckpointError(f"the checkpoint {path} lacks {sorted(missing)} in its {MANIFEST}.")
    return manifest


def complete(directory):
    """Return the paths of the checkpoints that `save` finished in `directory`, oldest first."""
    directory = pathlib.Path(directory).resolve()
    if not directory.is_dir():
        return []
    return sorted(
        (
            p
            for p in directory.iterdir()
            if re.fullmatch(r"\d+", p.name) and (p / MANIFEST).exists()
        ),
        key=lambda p: int(p.name),
    )


def _shapes(algo):
    """Describe the model and the optimizer by name and the shapes of their arrays."""
    model = algo.model
    return {
        "model": {
            "name": type(model).__name__,
            "shapes": [list(variable.shape) for variable in model.weights],
        },
        "optimizer": {
            "name": algo.optimizer_name,
            "shapes": algo.optimizer_shapes(),
        },
    }


def _brief(part):
    count = sum(_size(shape) for shape in part["shapes"])
    return f"{part['name']!r} with {len(part['shapes'])} arrays of {count:,} numbers"


def _size(shape):
    size = 1
    for length in shape:
        size *= length
    return size


def _sha256(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
