"""make bench: prints figures. NODES, MANY and RUNS change the sizes; what a machine lacks is skipped by name."""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

from tests.harness import realparts
from tests.harness.daemon import program

from . import changes, cluster, first_sync, mapping, report
from .setup import Target

NODES = int(os.environ.get("NODES", "5000"))
MANY = int(os.environ.get("MANY", "50000"))
RUNS = int(os.environ.get("RUNS", "5"))
QUIET = int(os.environ.get("QUIET", "60"))
MAPPED_NODES, MAPPED_ENDPOINTS, MAPPINGS = 2_000, 20_000, 200


def binary_size(home: pathlib.Path) -> None:
    stripped = home / "stripped"
    subprocess.run(["strip", "-o", stripped, program()], check=True)
    report.heading("the program")
    report.figure("stripped binary", f"{stripped.stat().st_size / 1024:.0f} KiB", "<= 0.5 MB")


def real_cluster(target: Target, home: pathlib.Path) -> None:
    try:
        realparts.kube_apiserver()
        realparts.etcd()
    except realparts.Missing as e:
        report.heading(f"skipped: everything on a real kube-apiserver: {e}")
        return
    kube = cluster.start(home / "kube")
    try:
        started = time.monotonic()
        cluster.fill(kube, NODES)
        report.heading(f"{NODES:,} nodes written to a real kube-apiserver {realparts.KUBERNETES} over etcd {realparts.ETCD} "
                       f"in {time.monotonic() - started:.0f} s")
        first_sync.real(target, kube, NODES, RUNS)
        with target.daemon(kube.kubeconfig(), cluster.NAMESPACE, "changes") as daemon:
            target.wait_servers(changes.BASELINE)
            daemon.wait_ready(60)
            changes.event_to_commit(target, kube, daemon, 20)
            changes.many_servers(target, kube, daemon, (3, 50, 500))
        changes.nothing(target, kube, QUIET)
    finally:
        kube.stop()


def doubles(target: Target, home: pathlib.Path) -> None:
    report.note(f"a real kube-apiserver cannot be filled with {MANY:,} nodes in the time of a bench: the double generates them")
    first_sync.double(target, home / "double", NODES, max(1, RUNS // 2), True, {})
    first_sync.double(target, home / "double", NODES, max(1, RUNS // 2), False, {})
    first_sync.double(target, home / "double", MANY, 1, True, {"anon": "<= 16 MB"})


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = pathlib.Path(name)
        (home / "double").mkdir()
        print(f"figures, not verdicts; {platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}, "
              f"Python {platform.python_version()}")
        binary_size(home)
        mapping.measure(MAPPED_NODES, MAPPED_ENDPOINTS, MAPPINGS)
        with Target(home / "real") as target:
            print(f"  {target.describe()}")
            real_cluster(target, home)
        # A target of its own: the one above has served thousands of changes.
        report.heading("beyond what a real kube-apiserver holds here")
        with Target(home / "other") as target:
            doubles(target, home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
