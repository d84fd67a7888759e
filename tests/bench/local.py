"""A HAProxy that is reached by its own file and sockets: new servers without a reload, and a whole configuration, each beside its floor:
what `haproxy -c`, a rename and the same commands cost by themselves."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import time
from collections.abc import Callable

from tests.harness import objects
from tests.harness.daemon import Daemon, program
from tests.harness.haproxy import HAProxy, haproxy_version
from tests.harness.load import Load
from tests.harness.local import LocalFiles
from tests.harness.process import wait_until
from tests.harness.realkube import RealKube

from . import cluster, report
from .kubernetes import kubernetes
from .setup import BACKEND, NODE_PORT, TEMPLATE, Target, haproxy
from .stage import BACKEND as INGRESS, NODES, Controller, Settings, Stage

FIRST, MANY = 3, 500
NEW = {f"node-{i}": f"127.0.14.{i}" for i in range(7, 17)}


def _ms(what: Callable[[], object]) -> float:
    began = time.monotonic()
    what()
    return (time.monotonic() - began) * 1000


def _check(target: Target) -> None:
    subprocess.run([target.haproxy.binary, "-c", "-f", str(target.haproxy.config)], check=True, capture_output=True)


def _rename(target: Target) -> None:
    beside = target.haproxy.config.with_suffix(".floor")
    with open(beside, "w", encoding="ascii") as out:
        out.write(target.haproxy.config.read_text())
        out.flush()
        os.fsync(out.fileno())
    folder = os.open(beside.parent, os.O_RDONLY)
    os.replace(beside, target.haproxy.config)
    os.fsync(folder)
    os.close(folder)


def _ready(target: Target, count: int) -> Callable[[], bool]:
    return lambda: list(target.haproxy.states(BACKEND).values()).count("ready") == count


def _logged(daemon: Daemon, key: str, since: int) -> list[float]:
    return [float(x) for x in re.findall(rf"\b{key}=([\d.]+)", daemon.log()[since:])]


def _come(target: Target, kube: RealKube, daemon: Daemon, count: int) -> tuple[float, float]:
    """Milliseconds from Kubernetes' answer: until HAProxy has them in rotation, and until the file has them."""
    kube.admin.put(cluster.slice_of(count))
    rotation = _ms(lambda: wait_until(_ready(target, count), 60, f"{count} servers in rotation", 0.001))
    written = rotation + _ms(lambda: target.wait_servers(count))
    daemon.wait_ready(60)
    return rotation, written


def new_servers(target: Target, kube: RealKube, runs: int) -> None:
    report.heading(f"new servers without a reload, {target.describe()}")
    kube.admin.put(cluster.slice_of(FIRST))
    with target.daemon(kube.kubeconfig(), cluster.NAMESPACE, "local", PARK_TTL="0") as daemon:
        target.wait_servers(FIRST)
        daemon.wait_ready(60)
        worker, mark, checks, renames, rotation, written = target.haproxy.worker(), len(daemon.log()), [], [], [], []
        for i in range(runs):
            checks.append(_ms(lambda: _check(target)))
            one = _come(target, kube, daemon, FIRST + 1 + i)
            rotation.append(one[0])
            written.append(one[1])
        report.figure("`haproxy -c` by itself", report.spread(checks, "ms", 1))
        report.figure("a node never seen: in rotation", report.spread(rotation, "ms", 1), "<= 20 ms")
        report.figure("  in the file", report.spread(written, "ms", 1))
        report.figure("  event to commit, as logged", report.spread(_logged(daemon, "event_to_commit_ms", mark), "ms", 1))
        many, in_file, alone = [], [], []
        for _ in range(max(2, runs // 4)):
            _come(target, kube, daemon, FIRST)
            both = _come(target, kube, daemon, FIRST + MANY)
            many.append(both[0])
            in_file.append(both[1])
        for _ in range(runs):
            renames.append(_ms(lambda: _rename(target)))
        checks = [_ms(lambda: _check(target)) for _ in range(runs)]
        for run in range(max(2, runs // 4)):
            names = [f"{BACKEND}/floor-{run}-{i}" for i in range(MANY)]
            alone.append(_ms(lambda names=names: [target.haproxy.runtime(  # type: ignore[misc]
                f"add server {name} 10.9.0.1:{NODE_PORT} check inter 60s weight 100; enable health {name}; enable server {name}")
                for name in names]))
            for name in names:
                target.haproxy.runtime(f"disable server {name}; del server {name}")
        report.figure("`haproxy -c` of that file by itself", report.spread(checks, "ms", 1))
        report.figure("write, fsync and rename by themselves", report.spread(renames, "ms", 1))
        report.figure(f"{MANY} commands by themselves", report.spread(alone, "ms", 1))
        report.figure(f"{MANY} new servers: in rotation", report.spread(many, "ms", 1), "<= 150 ms")
        report.figure("  in the file", report.spread(in_file, "ms", 1))
        report.figure("reloads meanwhile", str(int(target.haproxy.worker() != worker)) + " (worker changed)", "0")


def _serves(stage: Stage, node: str) -> None:
    """And all is done that goes with it: the next one is a change of its own."""
    began = stage.nodes.asked(node)
    wait_until(lambda: stage.nodes.asked(node) > began, 20, f"connections to {node}")
    wait_until(lambda: f"server {node} " in stage.dataplane.file() and (own := stage.own()) and own.sum("in_sync") == 1, 20, "in sync")


def one_by_one(home: pathlib.Path, settings: Settings) -> None:
    """Nodes never seen, under a load that reaches each of them."""
    took: list[float] = []
    ours = Controller("haproxy-k8s-sync", program(), True, local=True)
    with kubernetes(home / "kube") as kube:
        stage = Stage(home / "stage", haproxy(), kube, "one-by-one", ours, settings, NEW)
        with stage.started():
            assert isinstance(stage.dataplane, LocalFiles)
            before = stage.dataplane.reloads()
            load = Load(stage.haproxy.port, stage.home, rate=settings.rate, visits=settings.visits)
            with load:
                for number, node in enumerate(NEW, len(NODES) + 1):
                    stage.endpoints[node] = (number, objects.READY)
                    stage.put_slice()
                    took.append(_ms(lambda node=node: wait_until(  # type: ignore[misc]
                        lambda: stage.haproxy.states(INGRESS).get(node) == "ready", 30, f"{node} in rotation", 0.001)))
                    _serves(stage, node)
            traffic, reloads = load.stop(), stage.dataplane.reloads() - before
    report.heading(f"{len(NEW)} nodes never seen, one by one, under {settings.rate:g} new connections/s")
    report.figure("in rotation", report.spread(took, "ms", 1), "p50 <= 20 ms")
    report.figure("new connections", str(len(traffic.connections)))
    report.figure("failed, and visits broken", f"{len(traffic.failed)}, {len(traffic.broken)}", "0")
    report.figure("reloads", str(reloads), "0")


def whole(home: pathlib.Path, binary: str, runs: int) -> None:
    """The floor's reload is over when another worker answers."""
    target = HAProxy(home / "whole", TEMPLATE, binary)
    files = LocalFiles(target, home / "whole-files", counts_checks=False)
    source = home / "whole.cfg"
    text = target.config.read_text()
    source.write_text(text)

    def change(i: int) -> None:
        source.with_name("next").write_text(text.replace("timeout client 30s", f"timeout client {30 + i}s"))
        source.with_name("next").replace(source)

    ours, floor = [], []
    with target:
        for _ in range(runs):
            check = _ms(lambda: subprocess.run([binary, "-c", "-f", str(source)], check=True, capture_output=True))
            floor.append(check + _ms(target.reload))
        with Daemon(home / "whole-daemon", {"CONFIG_SOURCE": "file", "CONFIG_FILE": str(source), "CONFIG_MIN_INTERVAL": "0",
                                            "RESYNC_PERIOD": "1h", **files.settings()}) as daemon:
            daemon.wait_ready(30)
            for i in range(runs):
                seen = len(daemon.log())
                change(1 + i)
                daemon.wait_log('"configuration applied"', 30, seen)
                ours += _logged(daemon, "change_to_verified_ms", seen)
                daemon.wait_ready(30)
    version = ".".join(map(str, haproxy_version(binary)))
    report.heading(f"a whole configuration, HAProxy {version}, by its own file and sockets")
    report.figure("floor: `haproxy -c` and a reload", report.spread(floor, "ms", 0))
    report.figure("change seen -> verified, by the daemon", report.spread(ours, "ms", 0))


def measure(home: pathlib.Path, kube: RealKube, runs: int) -> None:
    with Target(home / "target", local=True) as target:
        new_servers(target, kube, runs)
        binary = target.haproxy.binary
    one_by_one(home / "one-by-one", Settings(reload_delay=0))
    whole(home, binary, runs)
