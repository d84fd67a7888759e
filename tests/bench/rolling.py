"""A rolling update of six nodes under load: our daemon and, with OTHER=path, another controller, on every HAProxy there is."""

from __future__ import annotations

import math
import os
import pathlib

from tests.harness import realparts
from tests.harness.daemon import program
from tests.harness.process import ROOT

from . import charts, figures, report
from .growth import Curve, Plot
from .kubernetes import Kubernetes, kubernetes
from .rollout import Run, run
from .stage import NODES, Controller, Settings, Stage

REPORT = ROOT / "build" / "bench" / "rolling.html"


def controllers() -> list[Controller]:
    found = [Controller("haproxy-k8s-sync", program(), True), Controller("haproxy-k8s-sync, files", program(), True, local=True)]
    other = os.environ.get("OTHER")
    if other:
        path = pathlib.Path(other).resolve()
        if not os.access(path, os.X_OK):
            raise SystemExit(f"OTHER={other} is not a program")
        name = path.name if path.name != found[0].name else f"{path.parent.name}/{path.name}"
        found.append(Controller(name, path, False))
    return found


def haproxies() -> list[pathlib.Path]:
    found = []
    for part in (realparts.haproxy_debian, realparts.haproxy_ray):
        try:
            found.append(part())
        except realparts.Missing as e:
            report.note(f"skipped: {e}")
    return found


def bench_settings() -> Settings:
    return Settings(rate=float(os.environ.get("RATE", "200")), reload_delay=float(os.environ.get("RELOAD_DELAY", "5")),
                    resync=os.environ.get("RESYNC", "10s"))


def _runs(home: pathlib.Path, kube: Kubernetes, settings: Settings) -> list[Run]:
    done = []
    for haproxy in haproxies():
        for controller in controllers():
            namespace = f"rolling-{len(done) + 1}"
            stage = Stage(home / namespace, haproxy, kube, namespace, controller, settings)
            try:
                done.append(run(stage))
            except (AssertionError, RuntimeError) as e:
                report.note(f"no figures of {controller.name} on {haproxy}: {e}")
    return done


def _print(runs: list[Run]) -> None:
    columns = [r.controller.name[:23] for r in runs]
    for name, values in (("HAProxy", [r.haproxy for r in runs]), ("controller", columns)):
        print(f"  {name:<44}" + "".join(f" {value:<24}" for value in values).rstrip())
    for what, aim, values in figures.rows([figures.of(r) for r in runs]):
        print(f"  {what:<44}" + "".join(f" {value:<24}" for value in values) + (f" aim: {aim}" if aim else ""), flush=True)


def _page(runs: list[Run], kube: str, settings: Settings, path: pathlib.Path = REPORT) -> str:
    """Of each HAProxy, how many connections took longer than a time; a line that ends above the lowest: so many failed."""
    def curve(run: Run) -> Curve:
        return Curve(run.controller.name, charts.longer([math.inf if c.failed else c.seconds * 1000 for c in run.traffic.connections]))

    plots = [Plot(f"Share of connections that took longer, HAProxy {haproxy}", "", "ms", tuple(curve(run) for run in runs if run.haproxy == haproxy))
             for haproxy in dict.fromkeys(run.haproxy for run in runs)]
    heads = ["", *(f"{run.controller.name}, HAProxy {run.haproxy}" for run in runs)]
    rows = figures.rows([figures.of(run) for run in runs])
    return charts.write(path, f"A rolling update of {len(NODES)} nodes under load",
                        f"{kube}; Data Plane API: {runs[0].dataplane}, reload_delay {settings.reload_delay:g} s; "
                        f"{settings.rate:g} connections/s", [charts.table(heads, rows), charts.panels(plots)])


def measure(home: pathlib.Path) -> None:
    settings = bench_settings()
    report.heading(f"rolling update of {len(NODES)} nodes under {settings.rate:g} new connections/s, "
                   f"reload_delay {settings.reload_delay:g} s")
    with kubernetes(home / "kube") as kube:
        print(f"  {kube.name}", flush=True)
        runs = _runs(home, kube, settings)
    if runs:
        print(f"  Data Plane API: {runs[0].dataplane}")
        _print(runs)
        print(_page(runs, kube.name, settings))
