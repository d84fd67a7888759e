"""How cost and time grow: over nodes, over backends, over HAProxies; and 2,000 servers that leave the rotation at once."""

from __future__ import annotations

import os
import pathlib
import signal
import statistics
import threading
import time
from collections.abc import Callable, Sequence

from tests.harness import http, objects
from tests.harness.events_stream import EventStream
from tests.harness.haproxy import DoubleDataPlane
from tests.harness.kube import KubeDouble
from tests.harness.process import ROOT, wait_until

from . import charts, cluster, first_sync, report
from .growth import Curve, Plot, Point
from .scale_stage import API, DOUBLES, LOCAL, Object, ScaleStage, address, node_name
from .setup import SERVICE, Target

REPORT = ROOT / "build" / "bench" / "scale.html"
LEAVE, OF, DOUBLE_SHARE = 2_000, 2_500, 5
EVENTS, LOOKS, QUIET_S = 4, 3, 2.0
RESYNC_S, OFTEN_S, OFTEN = 30, 2, 10
"""What RESYNC_PERIOD is by default: a look so often is part of what nothing costs. So much time is not waited for: so many looks come
OFTEN_S apart instead, and no other, of which one is of all."""
REPEATED_UP_TO, TIMES = 5_000, 3
PROBED = 0.03
"""Share of a core that 50 questions a second may cost."""
PAGE_S = 8.0
AMONG_NODES, AMONG_PODS, AMONG_EVENTS = 5_000, 4, 20
APART_S = 0.1
MIB_TO_MB = 1.048576
DELETION_TAINT = "ToBeDeletedByClusterAutoscaler"
Figures = dict[str, float]


def _sizes(name: str, fallback: str) -> list[tuple[int, int]]:
    """"4 16 64x300": each a size and, where it is not 100, the servers of a backend."""
    pairs = [part.partition("x") for part in os.environ.get(name, fallback).replace(",", " ").split()]
    return sorted((int(size), int(servers or 100)) for size, _, servers in pairs)


# --- over nodes


def _over_nodes(home: pathlib.Path) -> list[Plot]:
    taken: dict[int, Figures] = {}
    with Target(home / "target") as target:
        report.heading(f"first sync over nodes of 50 images each, from the Kubernetes double without TLS; {target.describe()}")
        for nodes, _ in _sizes("OVER_NODES", "500 1000 2000 5000 10000 20000 50000"):
            (at := home / f"nodes-{nodes}").mkdir()
            with KubeDouble(at, generate_nodes=nodes) as kube:
                kube.put(cluster.slice_of(first_sync.PODS, namespace=objects.NAMESPACE))
                daemon = target.daemon(kube.kubeconfig(at / "kubeconfig"), objects.NAMESPACE, INGRESS_SERVICE_NAME=SERVICE)
                first_sync.one(target, daemon)  # the double puts each node into protobuf once, which takes it longer than all else
                runs = [first_sync.one(target, daemon) for _ in range(TIMES if nodes <= REPEATED_UP_TO else 1)]
                taken[nodes] = {key: statistics.median([run[key] for run in runs]) for key in runs[0]}
                report.figure(f"{nodes:,} nodes", "{commit:.2f} s, {cpu:.3f} s of CPU, {anon:.1f} MiB anonymous, {peak:.1f} MiB at most".format(
                    **taken[nodes]))
    return [_plot(title, unit, "nodes", [("protobuf", taken, key, factor)], aims)
            for title, unit, key, factor, aims in (
                ("Time from the start to the first sync", "s", "commit", 1, ()),
                ("CPU of the daemon to the first sync", "ms", "cpu", 1000, ()),
                ("Anonymous memory in sync", "MB", "anon", MIB_TO_MB, ((5_000, 3.0), (50_000, 10.0))),
                ("Resident memory at most", "MB", "peak", MIB_TO_MB, ((5_000, 14.0),)))]


def _plot(title: str, unit: str, over: str, curves: Sequence[tuple[str, dict[int, Figures], str, float]], aims: Sequence[Point] = ()) -> Plot:
    made = Plot(title, unit, over, tuple(Curve(name, tuple((size, figures[key] * factor) for size, figures in sorted(by_size.items())))
                                         for name, by_size, key, factor in curves if by_size), tuple(aims))
    for curve in made.curves:
        report.figure(f"{title}, {unit}: {curve.name}", "  ".join(f"{size:,.0f}: {charts.number(value)}" for size, value in curve.points))
        report.note(curve.growth)
    for size, most in made.aims if made.curves else ():
        report.note(f"aim: at most {most:g} {unit} at {size:,.0f} {over}")
    return made


# --- over backends, over HAProxies


def _change(stage: ScaleStage, out: bool) -> None:
    """One endpoint of one Service is not ready, or is again; until each file says so."""
    stage.kube.put(*stage.slices(0, range(1) if out else range(0)))
    stage.wait_told({node_name(0)} if out else set())


def _look(stage: ScaleStage, busy: float) -> float:
    """All is read and compared, as every RESYNC_PERIOD; its CPU."""
    os.kill(stage.daemon.pid, signal.SIGHUP)
    return stage.settled(busy)


def _asked(stage: ScaleStage) -> float:
    """Requests to Data Plane APIs so far."""
    return sum(count for target, count in stage.daemon.metrics().by("http_requests_total", "target").items() if target != "kubernetes")


def _under_questions(stage: ScaleStage, figures: Figures) -> None:
    files = [one.file() for one in stage.dataplanes]
    with stage.probed() as prober:
        began = time.monotonic()
        stage.daemon.start()
        stage.wait_first_sync()
        figures["sync"] = time.monotonic() - began
        figures["sync cpu"], figures["sync anon"] = stage.cpu(), stage.anonymous_mib()
        if [one.file() for one in stage.dataplanes] != files:
            report.note("a file is not as it was at the start: these figures have a write in them")
        stage.settled(PROBED)
        figures["healthz start"] = float(prober.ask("start").split()[0])
        for what, act in (("event", lambda: _change(stage, True)), ("event back", lambda: _change(stage, False)), ("look", lambda: _look(stage, PROBED))):
            act()
            stage.settled(PROBED)
            figures[f"healthz {what}"] = float(prober.ask(what).split()[0])
    figures["healthz"] = max(value for key, value in figures.items() if key.startswith("healthz"))


def _by_itself(stage: ScaleStage, figures: Figures) -> None:
    before = stage.settled()
    for i in range(EVENTS):
        _change(stage, i % 2 == 0)
        after = stage.settled()
    figures["event cpu"] = (after - before) / EVENTS
    asked, before = _asked(stage), stage.settled()
    for _ in range(LOOKS):
        after = _look(stage, 0.004)
    figures["requests"] = (_asked(stage) - asked) / LOOKS / len(stage.dataplanes)
    figures["look cpu"] = (after - before) / LOOKS
    before = stage.settled()
    time.sleep(QUIET_S)
    figures["quiet"] = (stage.cpu() - before) / QUIET_S
    figures["anon"] = stage.anonymous_mib()
    _with_a_page_open(stage, figures)


def _drain(stream: EventStream) -> None:
    try:
        while True:
            stream.next()
    except (EOFError, OSError, ValueError, AttributeError):
        return  # it was closed


def _with_a_page_open(stage: ScaleStage, figures: Figures) -> None:
    """As a browser reads it; while nothing happens, then while something does all the time."""
    base = f"http://127.0.0.1:{stage.daemon.port}"
    figures["status bytes"], figures["page bytes"] = (len(http.request(base, "GET", path).body) for path in ("/status", "/"))
    with EventStream(stage.daemon.port) as stream:
        reader = threading.Thread(target=_drain, args=(stream,), daemon=True)
        reader.start()
        time.sleep(PAGE_S / 4)
        before, began = stage.cpu(), time.monotonic()
        time.sleep(PAGE_S)
        figures["page"] = (stage.cpu() - before) / (time.monotonic() - began)


def _with_nothing_to_do(stage: ScaleStage, figures: Figures) -> None:
    """Another daemon that polls more often."""
    stage.daemon.stop()
    stage.daemon.env["RESYNC_PERIOD"] = f"{OFTEN_S}s"
    stage.daemon.start()
    stage.wait_first_sync()
    time.sleep(2 * OFTEN_S)
    before, began = stage.cpu(), time.monotonic()
    time.sleep(OFTEN * OFTEN_S)
    looks = (time.monotonic() - began) / OFTEN_S
    figures["idle"] = figures["quiet"] + ((stage.cpu() - before) / looks - figures["quiet"] * OFTEN_S) / RESYNC_S


def _figures(stage: ScaleStage) -> Figures:
    figures: Figures = {}
    with stage.ready():
        try:
            _under_questions(stage, figures)
            _by_itself(stage, figures)
            _with_nothing_to_do(stage, figures)
            stage.daemon.stop()
        finally:
            stage.daemon.kill()
    return figures


def _taken(what: str, stage: ScaleStage) -> Figures | None:
    try:
        found = _figures(stage)
    except (AssertionError, RuntimeError, OSError) as e:
        report.note(f"no figures of {what}: {str(e)[:300]}")
        return None
    slowest = max((key for key in found if key.startswith("healthz ")), key=lambda key: found[key]).removeprefix("healthz ")
    report.figure(what, f"in sync {found['sync']:.2f} s, /healthz at most {found['healthz']:.1f} ms ({slowest}), an event {found['event cpu'] * 1000:.1f} ms of CPU, "
                  f"{found['sync anon']:.1f} MiB, later {found['anon']:.1f}, {found['idle'] * 100:.2f} % of a core when nothing happens, "
                  f"{found['page'] * 100:.2f} % with a page open (/status {found['status bytes'] / 1e3:,.0f} kB, the page {found['page bytes'] / 1e3:.0f} kB)")
    return found


def _over_backends(home: pathlib.Path) -> list[Plot]:
    report.heading("over backends of 100 servers (64x300: of 300) whose files already hold them, real HAProxy")
    taken: dict[str, dict[int, Figures]] = {}
    asked: dict[str, dict[int, Figures]] = {}
    for way in (LOCAL, API):
        for backends, servers in _sizes("OVER_BACKENDS", "1 4 16 64 64x300"):
            stage = ScaleStage(home / f"{way[-3:]}-{backends}-{servers}", backends, servers, way)
            found = _taken(f"{backends} x {servers}, {stage.describe()}", stage)
            if found:
                taken.setdefault(stage.describe(), {})[backends * servers] = found
            if found and way != LOCAL:
                asked.setdefault(stage.describe(), {})[backends] = found
    over_servers = [_plot(title, unit, "servers", [(name, by_size, key, factor) for name, by_size in taken.items()])
                    for title, unit, key, factor in (
                        ("Time from the start to in sync", "s", "sync", 1),
                        ("Longest answer of /healthz: start, event, look", "ms", "healthz", 1),
                        ("CPU of an event in one backend", "ms", "event cpu", 1000),
                        ("CPU of one look", "ms", "look cpu", 1000),
                        ("CPU when nothing happens, a look each 30 s", "% of a core", "idle", 100),
                        ("CPU with a status page open, when nothing happens", "% of a core", "page", 100),
                        ("Bytes of /status", "kB", "status bytes", 0.001),
                        ("Anonymous memory after events and looks", "MB", "anon", MIB_TO_MB))]
    return [*over_servers, _plot("Requests of one look", "requests", "backends", [(name, by_size, "requests", 1) for name, by_size in asked.items()])]


def _over_haproxies(home: pathlib.Path) -> list[Plot]:
    report.heading("over HAProxies with 64 backends of 100 servers each, doubles of the Data Plane API whose files already hold them")
    by_size: dict[int, Figures] = {}
    backends, servers = _sizes("OF_BACKENDS", "64")[0]
    for count, _ in _sizes("OVER_HAPROXIES", "1 2 4 8 16"):
        found = _taken(f"{count} HAProxies", ScaleStage(home / f"h{count}", backends, servers, DOUBLES, count))
        if found:
            by_size[count] = found
    at_first = [("doubles, as soon as in sync", by_size, "sync anon", MIB_TO_MB)]
    return [_plot(title, unit, "HAProxies", [("doubles", by_size, key, factor), *(at_first if key == "anon" else [])], aims)
            for title, unit, key, factor, aims in (
                ("Time from the start to in sync", "s", "sync", 1, ((16, 10.0),)),
                ("CPU of the daemon to in sync", "ms", "sync cpu", 1000, ()),
                ("Longest answer of /healthz: start, event, look", "ms", "healthz", 1, ()),
                ("Anonymous memory after events and looks", "MB", "anon", MIB_TO_MB, ((16, 40.0),)),
                ("CPU when nothing happens, a look each 30 s", "% of a core", "idle", 100, ((16, 1.0),)),
                ("CPU with a status page open, when nothing happens", "% of a core", "page", 100, ((1, 1.0),)),
                ("CPU of an event in one backend", "ms", "event cpu", 1000, ()))]


# --- one event among many


def _event_cpu(stage: ScaleStage, objects_: Callable[[int], list[Object]], done: Callable[[int], None]) -> float:
    before = stage.settled()
    for i in range(AMONG_EVENTS):
        stage.kube.put(*objects_(i))
        done(i)
    return (stage.settled() - before) / AMONG_EVENTS * 1000


def _among(home: pathlib.Path) -> list[tuple[str, str, str]]:
    """An event that changes no server is what most are; of one that does, HAProxy's file is the larger part."""
    nodes, pods = AMONG_NODES, AMONG_PODS
    if not _sizes("AMONG", "1"):
        return []
    report.heading(f"one event among {nodes:,} nodes and {nodes * pods:,} endpoints of a Service, in the daemon")
    stage = ScaleStage(home / "among", 1, nodes, LOCAL, pods=pods)
    rows: list[tuple[str, str, str]] = []
    try:
        with stage.ready(), stage.daemon:
            stage.wait_first_sync()
            for what, aim, changed, done in (
                    ("a slice of 100 endpoints changes, no server does", "<= 1 ms", lambda i: [stage.slice_(0, {"turn": str(i)})], lambda i: time.sleep(APART_S)),
                    ("a node changes, no server does", "<= 1 ms",
                     lambda i: [objects.node(node_name(7), address(7), labels={"turn": str(i)})], lambda i: time.sleep(APART_S)),
                    ("the endpoints of a node are not ready, or are again, to the file", "", lambda i: stage.slices(0, range(0 if i % 2 else pods))[:1],
                     lambda i: stage.wait_told(set() if i % 2 else {node_name(0)}))):
                rows.append((f"CPU: {what}", aim, f"{_event_cpu(stage, changed, done):.2f} ms"))
                report.figure(rows[-1][0], rows[-1][2], aim)
    except (AssertionError, RuntimeError, OSError) as e:
        report.note(f"no figure of one event: {str(e)[:300]}")
    return rows


# --- servers that leave


def _leave(stage: ScaleStage, leave: int, nodes: bool) -> float:
    """Seconds until the running HAProxy gives none of them new connections."""
    with stage.ready(), stage.daemon:
        stage.wait_first_sync()
        stage.settled()
        began = time.monotonic()
        if nodes:
            stage.kube.put(*(objects.node(node_name(i), address(i), taints=[(DELETION_TAINT, "NoSchedule")]) for i in range(leave)))
        else:
            stage.kube.put(*stage.slices(0, range(leave), objects.TERMINATING))
        wait_until(lambda: sum(state != "ready" for state in stage.haproxies[0].states("b0").values()) >= leave, 60, f"{leave} servers to be told", 0.05)
        return time.monotonic() - began


def _leaving(home: pathlib.Path) -> list[tuple[str, str, str]]:
    most, of_all = int(os.environ.get("LEAVE", LEAVE)), int(os.environ.get("OF", OF))
    rows: list[tuple[str, str, str]] = []
    if of_all == 0:
        return rows
    report.heading(f"{most:,} announced servers of one backend of {of_all:,} leave the rotation at once, until the running HAProxy is told of each")
    for way in (LOCAL, API):
        for what, nodes in (("endpoints turn terminating", False), (f"nodes get the taint {DELETION_TAINT}", True)):
            stage = ScaleStage(home / f"{way[-3:]}-{nodes}", 1, of_all, way)
            leave, is_double = most, isinstance(stage.dataplanes[0], DoubleDataPlane)
            if is_double:  # it reads all of them for each of them
                stage, leave = ScaleStage(home / f"double-{nodes}", 1, of_all // DOUBLE_SHARE, way), most // DOUBLE_SHARE
            try:
                seconds = _leave(stage, leave, nodes)
            except (AssertionError, OSError) as e:
                report.note(f"no figure of {what}, {way}: {str(e)[:300]}")
                continue
            rows.append((f"{leave:,} of {stage.servers:,}, {what}: {stage.describe()}", "5 s" if way == API and not is_double else "", f"{seconds:.2f} s"))
            report.figure(rows[-1][0], rows[-1][2], rows[-1][1])
    return rows


def measure(home: pathlib.Path) -> None:
    began, took = time.monotonic(), list[str]()
    groups = []
    for name, of, at in (("Over nodes", _over_nodes, "n"), ("Over backends", _over_backends, "b"), ("Over HAProxies", _over_haproxies, "h")):
        (home / at).mkdir()
        before = time.monotonic()
        groups.append((name, of(home / at)))
        took.append(f"{name.lower()} {time.monotonic() - before:.0f} s")
    rows = [*_among(home), *_leaving(home)]
    print(f"  all of it took {time.monotonic() - began:.0f} s: {', '.join(took)}\n{_page(groups, rows)}")


# What a plot does not say of its figures.
NOTES = {
    "Over nodes": "Nodes of 50 images each, served by the Kubernetes double, which is written in Python: the time is mostly its own. "
                  "Three have a pod.",
    "Over backends": "Backends of 100 servers each, the last of 64 with 300, in one HAProxy whose file already holds all of them. /healthz is asked every "
                     "20 ms from the start on, through an event and a look. An event: one endpoint of one Service turns not ready, or ready again.",
    "Over HAProxies": "64 backends of 100 servers in each. Doubles of the Data Plane API without a HAProxy, all of them on this one machine: the time is "
                      "mostly theirs. An event is written to each of the HAProxies.",
}


def _page(groups: Sequence[tuple[str, Sequence[Plot]]], leaving: Sequence[tuple[str, str, str]], path: pathlib.Path = REPORT) -> str:
    parts = []
    for name, plots in groups:
        if any(plot.curves for plot in plots):
            parts += [f"<h2>{name}</h2>", f"<p>{NOTES[name]}</p>", charts.panels(plots, grows=True)]
    if leaving:
        parts += ["<h2>One event, and servers that leave the rotation at once</h2>",
                  charts.table([], [(what, aim, [value]) for what, aim, value in leaving])]
    return charts.write(path, "How cost and time grow",
                        "both axes are logarithmic: a power of the size, whose exponent is given, is a straight line", parts)
