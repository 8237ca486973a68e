"""Which Ray a run joins: this machine's own, or the cluster that RAY_ADDRESS names."""

import dataclasses
import os
import subprocess
import sys

import pytest

from tests.experiments.processes import ROOT, TIMEOUT
from tf_relational import experiments
from tf_relational.experiments.algorithm import check_cores
from tf_relational.experiments.errors import UserError

# A cluster of one node with one core, and a driver that asks for more env runners than that.
JOIN = """
import os
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
os.environ["RAY_ADDRESS"] = cluster.address
from tf_relational.experiments.algorithm import start_ray
start_ray(num_env_runners=5)
import ray
assert ray.cluster_resources()["CPU"] == 1
@ray.remote
def where():
    import tf_relational
    return tf_relational.__file__
print("a worker imports", ray.get(where.remote()))
ray.shutdown()
cluster.shutdown()
"""


def test_a_cluster_is_joined_and_its_workers_find_the_package():
    environment = {**os.environ, "RAY_raylet_start_wait_time_s": "180"}
    done = subprocess.run(
        [sys.executable, "-c", JOIN], cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=TIMEOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert f"a worker imports {ROOT / 'tf_relational' / '__init__.py'}" in done.stdout


@pytest.mark.parametrize("address", [None, "", "local"])
def test_without_a_cluster_this_machine_has_to_have_the_cores(address, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    if address is not None:
        monkeypatch.setenv("RAY_ADDRESS", address)
    config = dataclasses.replace(experiments.get("boxworld").preset("smoke"), num_env_runners=4_000)
    with pytest.raises(UserError, match="num_env_runners=4000 needs as many cores"):
        check_cores(config)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    check_cores(config)
