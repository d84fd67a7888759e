"""Memory, CPU and time of a first sync beside thousands of nodes."""

from __future__ import annotations

import pathlib
import time

from tests.harness import objects
from tests.harness.daemon import Daemon
from tests.harness.kube import KubeDouble
from tests.harness.realkube import RealKube

from . import cluster, report
from .setup import BACKEND, SERVICE, Target, cpu_seconds

PODS = 3


def one(target: Target, daemon: Daemon) -> dict[str, float]:
    """From exec to the commit; the target has no server of ours before it, and none is left after it."""
    assert target.server_count() == 0
    started = time.monotonic()
    daemon.start()
    target.wait_servers(PODS)
    committed = time.monotonic() - started
    cpu = cpu_seconds(daemon.pid)
    daemon.wait_ready(60)
    ready = time.monotonic() - started
    memory = daemon.memory_kib()
    daemon.stop()
    _empty(target)
    return {"commit": committed, "ready": ready, "cpu": cpu, "peak": memory["VmHWM"] / 1024, "anon": memory["RssAnon"] / 1024}


def _empty(target: Target) -> None:
    tid = target.dataplane.begin()
    for i in range(PODS):
        target.dataplane.delete(f"/configuration/backends/{BACKEND}/servers/{cluster.node_name(i)}?transaction_id={tid}")
    target.dataplane.follow(target.dataplane.commit(tid).headers["Reload-ID"])


def _print(runs: list[dict[str, float]], aims: dict[str, str]) -> None:
    for key, name, unit, digits in (("peak", "peak RSS (VmHWM)", "MiB", 1), ("anon", "anonymous RSS once ready", "MiB", 1),
                                    ("cpu", "CPU until the first commit", "s", 3), ("commit", "exec to first commit", "s", 2),
                                    ("ready", "exec to ready (HAProxy reloaded)", "s", 2)):
        report.figure(name, report.spread([run[key] for run in runs], unit, digits), aims.get(key, ""))


def real(target: Target, kube: RealKube, nodes: int, runs: int) -> None:
    """Also what it costs the API server, from our start until we are in sync."""
    report.heading(f"first sync, {nodes:,} nodes of 50 images each on a real kube-apiserver")
    kube.admin.put(cluster.slice_of(PODS))
    assert kube.process is not None
    daemon = target.daemon(kube.kubeconfig(), cluster.NAMESPACE)
    taken: list[dict[str, float]] = []
    for _ in range(runs):
        before = cpu_seconds(kube.process.pid)
        run = one(target, daemon)
        taken.append({**run, "server": cpu_seconds(kube.process.pid) - before})
    _print(taken, {"peak": "<= 14 MB", "anon": "<= 3 MB"})
    report.figure("CPU of the API server", report.spread([run["server"] for run in taken], "s", 2))


def double(target: Target, home: pathlib.Path, nodes: int, runs: int, streaming: bool, aims: dict[str, str]) -> None:
    how = "streaming list" if streaming else "paged lists (no streaming list on this server)"
    report.heading(f"first sync, {nodes:,} nodes, {how}, from the Kubernetes double without TLS")
    with KubeDouble(home, generate_nodes=nodes, streaming_lists=streaming) as kube:
        kube.put(cluster.slice_of(PODS, namespace=objects.NAMESPACE))
        daemon = target.daemon(kube.kubeconfig(home / f"kubeconfig-{nodes}-{streaming}"), objects.NAMESPACE,
                               INGRESS_SERVICE_NAME=SERVICE)
        _print([one(target, daemon) for _ in range(runs)], aims)
