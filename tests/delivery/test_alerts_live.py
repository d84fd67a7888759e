"""The alerts over what the real daemon says: in each state of affairs exactly those fire that should. Two scrapes of it, with something
in between, are drawn out over an hour: gauges stay, counters go on as they went, and promtool says what fires."""

from __future__ import annotations

import contextlib
import json
import pathlib
import time
from collections.abc import Callable, Iterator

import pytest

from tests.functional.rig import Rig
from tests.harness.daemon import Daemon, program
from tests.harness.metrics import Metrics
from tests.harness.process import wait_until

from .promtool import promtool
from .test_alerts import JOB, NAMESPACE, rendered, without_annotations

SCRAPES = 60  # one a minute

Series = list[dict[str, str]]


def drawn_out(pod: str, before: Metrics, after: Metrics) -> Series:
    target = f'namespace="{NAMESPACE}", job="{JOB}", pod="{pod}", instance="{pod}:8080"'
    found = [{"series": f"up{{{target}}}", "values": f"1x{SCRAPES}"}]
    for name, family in after.samples.items():
        counts = after.types.get(name) == "counter"
        for labels, value in family.items():
            own = "".join(f", {label}={json.dumps(text)}" for label, text in sorted(labels))
            step = value - before.samples.get(name, {}).get(labels, 0.0) if counts else 0.0
            if name.endswith("_timestamp_seconds"):  # as long ago at each scrape
                value, step = value - time.time(), 60.0
            found.append({"series": f"{name}{{{target}{own}}}", "values": f"{value:.3f}+{step:.3f}x{SCRAPES}"})
    return found


def firing(helm: pathlib.Path, home: pathlib.Path, series: Series) -> set[str]:
    """Names of the alerts that fire at the end of the hour."""
    (home / "alerts.yaml").write_text(json.dumps({"groups": without_annotations(rendered(helm))}))
    # Said wrongly, so that promtool prints what it found.
    asked = {"expr": 'group by (alertname) (ALERTS{alertstate="firing"}) + 41', "eval_time": f"{SCRAPES - 1}m",
             "exp_samples": [{"labels": '{alertname="none"}', "value": 1}]}
    (home / "test.yaml").write_text(json.dumps({"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": [
        {"interval": "1m", "input_series": series, "promql_expr_test": [asked]}]}))
    done = promtool("test", "rules", "test.yaml", cwd=home)
    said = done.stdout + done.stderr
    got = said.partition("got:")[2]
    assert done.returncode != 0 and got, said
    return {piece.split('"')[0] for piece in got.split('alertname="')[1:]}


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Iterator[Rig]:
    home = tmp_path / "rig"
    home.mkdir()
    with Rig(home) as made:
        yield made


def start(rig: Rig, **settings: str) -> Daemon:
    rig.daemon = Daemon(rig.home / "daemon", rig.settings(**settings), program()).start()
    rig.daemon.wait_up()
    return rig.daemon


def twice(daemon: Daemon, between: Callable[[Metrics], object]) -> tuple[Metrics, Metrics]:
    """Scrapes; between: until something is so in the second."""
    before = daemon.metrics()
    wait_until(lambda: between(daemon.metrics()), 60, "the second scrape")
    return before, daemon.metrics()


def requests(before: Metrics, now: Metrics, **labels: str) -> float:
    return now.sum("http_requests_total", **labels) - before.sum("http_requests_total", **labels)


def test_all_is_well(helm: pathlib.Path, tmp_path: pathlib.Path, rig: Rig) -> None:
    daemon = start(rig, RESYNC_PERIOD="1s", LEADER_ELECT="true")
    rig.wait_in_sync()
    rig.pods(1, 2)
    rig.wait_servers(1, 2)
    rig.wait_in_sync()
    with Daemon(rig.home / "standby", rig.settings(LEADER_ELECT="true"), program()) as standby:
        wait_until(lambda: "standing by" in standby.get("/readyz")[1], 20, "a standby")
        first = daemon.metrics()
        before, after = twice(daemon, lambda now: requests(first, now, code="200") > 3)
        waiting = standby.metrics()
    assert after.sum("leader") == 1 and waiting.sum("leader") == 0
    assert firing(helm, tmp_path, drawn_out("a", before, after) + drawn_out("b", waiting, waiting)) == set()


def test_the_data_plane_api_is_away(helm: pathlib.Path, tmp_path: pathlib.Path, rig: Rig) -> None:
    daemon = start(rig, RESYNC_PERIOD="1s")
    rig.wait_in_sync()
    rig.dataplane.stop()
    wait_until(lambda: daemon.metrics().sum("in_sync") == 0, 20, "out of step")
    first = daemon.metrics()
    before, after = twice(daemon, lambda now: requests(first, now, code="0") >= 1)
    assert firing(helm, tmp_path, drawn_out("a", before, after)) == {"HaproxyK8sSyncOutOfSync", "HaproxyK8sSyncTargetDown"}
    rig.dataplane.start()


def test_kubernetes_was_never_reached(helm: pathlib.Path, tmp_path: pathlib.Path, rig: Rig) -> None:
    rig.kube.stop()
    with contextlib.ExitStack() as ends:
        alone = ends.enter_context(Daemon(rig.home / "alone", rig.settings(), program()))
        elected = ends.enter_context(Daemon(rig.home / "elected", rig.settings(LEADER_ELECT="true"), program()))
        for daemon, alert in ((alone, "HaproxyK8sSyncOutOfSync"), (elected, "HaproxyK8sSyncNoLeader")):
            daemon.wait_not_ready("not synced")
            wait_until(lambda: daemon.metrics().sum("http_requests_total", target="kubernetes", code="0") > 3, 20, "some attempts")
            said = daemon.metrics()
            assert firing(helm, tmp_path, drawn_out("a", said, said)) == {alert}


def test_reloads_fail(helm: pathlib.Path, tmp_path: pathlib.Path, rig: Rig) -> None:
    daemon = start(rig)
    rig.wait_in_sync()
    rig.dataplane.fault({"action": "fail-reload", "message": "[ALERT] cannot bind socket", "times": 1000})
    before = daemon.metrics()
    rig.pods(1, 2)
    daemon.wait_metric("reloads_total", 2, result="failed", timeout=60)
    assert firing(helm, tmp_path, drawn_out("a", before, daemon.metrics())) == {"HaproxyK8sSyncOutOfSync", "HaproxyK8sSyncReloadFailing"}
