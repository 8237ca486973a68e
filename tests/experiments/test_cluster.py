"""Which Ray a run joins: this machine's own, or the cluster that RAY_ADDRESS names."""

import contextlib
import dataclasses
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.experiments.processes import ROOT, TIMEOUT
from tf_relational import experiments
from tf_relational.experiments.algorithm import check_cores
from tf_relational.experiments.errors import UserError

MANY = dataclasses.replace(experiments.get("boxworld").preset("smoke"), num_env_runners=4000)


def _free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize("address", [None, "", "local"])
def test_without_a_cluster_the_cores_of_this_machine_count(monkeypatch, address):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address is not None:
        monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match="num_env_runners=4000 .* this machine has"):
        check_cores(MANY)


def test_on_a_cluster_that_answers_they_do_not(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{server.getsockname()[1]}")
        check_cores(MANY)


@pytest.mark.parametrize("address", ["head", "head:", "head:port", ":6379", "ray://head"])
def test_what_is_no_address_is_told(monkeypatch, address):
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=f"RAY_ADDRESS={address} is not an address.*ray start"):
        check_cores(MANY)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_cluster_that_does_not_answer_is_told_before_anything_is_made(scheme, tmp_path):
    address = f"{scheme}127.0.0.1:{_free_port()}"
    runs = tmp_path / "runs"
    done = subprocess.run(
        [sys.executable, str(ROOT / "run.py"), "--exp", "boxworld", "--out", str(runs)],
        env=os.environ | {"RAY_ADDRESS": address},
        capture_output=True, text=True, timeout=TIMEOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    told = " ".join(done.stderr.replace("│", " ").split())
    assert f"RAY_ADDRESS={address} does not answer: " in told
    assert "10.0.0.1:6379, or auto" in told and "rpc_client" not in told
    assert not runs.exists()


JOIN = """
import os, sys
from tf_relational.experiments.algorithm import start_ray

start_ray(4000)
import ray

@ray.remote
def worker():
    import tf_relational
    return tf_relational.__file__, sys.path

file, path = ray.get(worker.remote(), timeout=600)
print(ray.cluster_resources()["CPU"], file, os.environ["OF_THE_NODE"] in path)
"""


@contextlib.contextmanager
def _one_node_cluster(folder, **environment):
    port = _free_port()
    log = Path(folder, "log")
    with log.open("wb") as out:
        node = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block",
             "--num-cpus=1", f"--port={port}", f"--ray-client-server-port={_free_port()}",
             "--include-dashboard=false", f"--temp-dir={folder}"],
            cwd=folder, env=os.environ | environment, stdout=out, stderr=out,
        )  # fmt: skip
    try:
        # Its port answers long before the node has joined, for which a driver waits a minute.
        while "Ray runtime started" not in log.read_text():
            if node.poll() is not None:
                # Where other programs have the cores, Ray's own start gives up: its raylet waits 15
                # seconds for its agent. What comes after the start is not excused.
                reason = "The current node timed out during startup"
                assert reason in log.read_text(), log.read_text()
                pytest.skip(f"ray start: {reason}: other programs have the cores")
            time.sleep(0.5)
        yield f"127.0.0.1:{port}"
    finally:
        node.terminate()
        node.wait(60)


def test_workers_of_a_cluster_have_the_package_and_their_own_machines_path():
    # Ray's sockets lie in this folder, and their names have to be short.
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    # Ray's 30 seconds to come up are too little where other programs have the cores.
    ray = {
        "RAY_AUTH_MODE": "disabled",
        "RAY_raylet_start_wait_time_s": "60",
        "RAY_gcs_server_request_timeout_seconds": "180",
        "PYTHONUNBUFFERED": "1",
    }
    try:
        with _one_node_cluster(folder, PYTHONPATH=f"{folder}/node", **ray) as address:
            done = subprocess.run(
                [sys.executable, "-c", JOIN],
                cwd=ROOT,
                env=os.environ
                | ray
                | {"RAY_ADDRESS": address, "PYTHONPATH": "", "OF_THE_NODE": f"{folder}/node"},
                capture_output=True, text=True, timeout=TIMEOUT, check=False,
            )  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"1.0 {ROOT / 'tf_relational' / '__init__.py'} True\n"
