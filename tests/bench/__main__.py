"""make bench: prints figures; what a machine lacks is skipped by name. These variables change what it does:

ONLY           parts to run, out of program, mapping, sync, double, rolling, scaling, templates, quarantine, services, etcd, scale (separated by commas)
NODES, RUNS    sync: nodes written to a real kube-apiserver, and how often each figure is taken
MANY           double: nodes that the Kubernetes double generates
QUIET          sync: seconds of nothing
OVER_NODES, OVER_BACKENDS, OVER_HAPROXIES
               scale: the sizes, such as "500 5000"; "4 64x300" is 4 backends of 100 servers and 64 of 300; "": none
OF_BACKENDS    scale: backends of each of several HAProxies
AMONG          scale: "": no figures of one event among 5,000 nodes
LEAVE, OF      scale: so many servers of so many leave the rotation at once; OF=0: none
OTHER          rolling, scaling: path of another controller that reads the same environment (INGRESS_NAMESPACE, INGRESS_SERVICE_NAME,
               HAPROXY_DATAPLANE_URL, HAPROXY_DATAPLANE_USERNAME, HAPROXY_DATAPLANE_PASSWORD, HAPROXY_BACKEND_NAME,
               HAPROXY_BACKEND_PORT, RESYNC_PERIOD, KUBECONFIG): its figures stand beside ours
STORM          scaling: seconds in which three groups of 20 nodes come and go; "": none
RATE           rolling: new connections a second
RELOAD_DELAY   rolling: the Data Plane API's, in seconds
RESYNC         rolling: RESYNC_PERIOD of the controllers
DATAPLANEAPI   a real Data Plane API; else the one on PATH, else the double
HAPROXY_K8S_SYNC  our daemon, where it is not build/haproxy-k8s-sync
"""

from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from tests.harness import realparts
from tests.harness.daemon import program

from . import changes, cluster, etcd, first_sync, mapping, quarantine, report, rolling, scale, scaling, services, templates
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
        # What is measured here are transactions, so nothing is parked; the rolling update is about the other way.
        with target.daemon(kube.kubeconfig(), cluster.NAMESPACE, "changes", PARK_TTL="0") as daemon:
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


def with_real_cluster(home: pathlib.Path) -> None:
    with Target(home / "real") as target:
        print(f"  {target.describe()}")
        real_cluster(target, home)


def with_doubles(home: pathlib.Path) -> None:
    # A target of its own: the one above has served thousands of changes.
    report.heading("beyond what a real kube-apiserver holds here")
    (home / "double").mkdir()
    with Target(home / "other") as target:
        doubles(target, home)


def map_endpoints(_: pathlib.Path) -> None:
    mapping.measure(MAPPED_NODES, MAPPED_ENDPOINTS, MAPPINGS)


PARTS: dict[str, Callable[[pathlib.Path], None]] = {
    "program": binary_size, "mapping": map_endpoints, "sync": with_real_cluster, "double": with_doubles, "rolling": rolling.measure,
    "scaling": scaling.measure, "templates": templates.measure, "quarantine": quarantine.measure, "services": services.measure,
    "etcd": etcd.measure, "scale": scale.measure}


def chosen() -> list[str]:
    """In their own order; all unless ONLY says otherwise."""
    only = set(filter(None, os.environ.get("ONLY", "").replace(",", " ").split()))
    unknown = only - PARTS.keys()
    if unknown:
        raise SystemExit(f"ONLY={os.environ['ONLY']}: there is no {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in only or not only]


def main() -> int:
    parts = chosen()
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        print(f"figures, not verdicts; {platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.2f}, "
              f"Python {platform.python_version()}", flush=True)
        for part in parts:
            home = pathlib.Path(name) / part
            home.mkdir()
            PARTS[part](home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
