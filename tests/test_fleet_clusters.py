"""The recipes for clusters in the documentation and the examples start workers as Dask and the
fleet need them.
"""

from __future__ import annotations

import inspect
import re
import runpy
import shlex
import sys
import types
from pathlib import Path

import dask
import yaml
from distributed import Nanny, Scheduler, SSHCluster
from distributed.cli import dask_scheduler, dask_worker

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples/fleet-clusters"
COMMANDS = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}


def read_by_dask(words: list[str]) -> dict:
    """Return the arguments of a `dask worker` or `dask scheduler`, as its command reads them."""
    assert words[0] == "dask"
    return COMMANDS[words[1]].make_context(words[1], words[2:]).params


def test_dask_reads_the_commands_of_the_page():
    text = (ROOT / "docs/fleet.md").read_text("utf-8").replace("\\\n", " ").replace(" ...\n", "\n")
    text = text.replace("~/.config/code-commit/key.pem", str(FOLDER)).replace("ca.pem", str(FOLDER))
    lines = re.findall(
        r"^(?:ExecStart=/opt/code-commit/bin/)?(dask .+)$",
        text.replace("cert.pem", str(FOLDER)),
        re.MULTILINE,
    )
    scheduler, *workers = [read_by_dask(shlex.split(line)) for line in lines]
    assert scheduler["protocol"] == "tls"
    assert len(workers) == 2
    for worker in workers:
        assert (worker["scheduler"], worker["nthreads"]) == ("tls://scheduler:8786", 8)
        # Without it, a worker waits forever for a scheduler that never comes.
        assert worker["death_timeout"] == "60"


def test_the_recipe_for_kubernetes():
    service, *deployments = yaml.safe_load((FOLDER / "kubernetes.yaml").read_text("utf-8"))["items"]
    scheduler, worker = (deployment["spec"]["template"] for deployment in deployments)
    assert service["spec"]["selector"] == scheduler["metadata"]["labels"]
    for deployment in deployments:
        assert (
            deployment["spec"]["selector"]["matchLabels"]
            == deployment["spec"]["template"]["metadata"]["labels"]
        )
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        [mount] = container["volumeMounts"]
        for variable in container["env"]:
            assert Path(variable["value"]).parent == Path(mount["mountPath"]), variable
    [container] = scheduler["spec"]["containers"]
    assert read_by_dask(container["command"])["port"] == str(service["spec"]["ports"][0]["port"])
    [container] = worker["spec"]["containers"]
    read = read_by_dask(container["command"])
    assert read["scheduler"] == f"tls://{service['metadata']['name']}:8786"
    assert read["death_timeout"] == "60"


def test_the_recipe_for_ssh_gives_what_its_cluster_takes(monkeypatch):
    """It is run with machines by hand; here, a stand-in takes the arguments."""
    passed: dict = {}

    def stand_in(*arguments, **keywords):
        passed.update(inspect.signature(SSHCluster).bind(*arguments, **keywords).arguments)

    monkeypatch.setattr("distributed.SSHCluster", stand_in)
    with dask.config.set({}):  # the recipe changes the configuration of its process
        runpy.run_path(str(FOLDER / "ssh_cluster.py"))["start"](["one", "two"])
        assert dask.config.get("distributed.comm.require-encryption") is True
        key = Path(dask.config.get("distributed.comm.tls.worker.key"))
    assert key.is_relative_to(Path.home() / ".config/code-commit")
    assert passed["hosts"] == ["one", "two"]
    assert passed["scheduler_options"].keys() <= inspect.signature(Scheduler).parameters.keys()
    assert passed["worker_options"].keys() <= inspect.signature(Nanny).parameters.keys()


def test_the_recipe_for_slurm_gives_what_its_cluster_takes(monkeypatch):
    """It is run with dask-jobqueue by hand; here, a stand-in takes the arguments."""
    passed: dict = {}
    stand_in = types.SimpleNamespace(SLURMCluster=lambda **arguments: passed.update(arguments))
    monkeypatch.setitem(sys.modules, "dask_jobqueue", stand_in)
    runpy.run_path(str(FOLDER / "slurm_cluster.py"))["start"](3)
    # One process with 8 threads a job.
    assert (passed["n_workers"], passed["cores"], passed["processes"]) == (3, 8, 1)
    key = Path(passed["security"].tls_worker_key)
    assert key.is_relative_to(Path.home() / ".config/code-commit")
