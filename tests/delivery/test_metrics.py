"""Prometheus' own check of what the daemon says on /metrics, with as many series as a short life gives."""

from __future__ import annotations

import pytest

from tests.functional.rig import Rig
from tests.functional.test_config_secret import SOURCE, secret
from tests.harness.daemon import Daemon, program

from .promtool import promtool
from .queries import families, known_metrics


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    with Rig(tmp_path_factory.mktemp("rig")) as rig:
        rig.daemon = Daemon(rig.home / "daemon", rig.settings(), program()).start()
        rig.wait_in_sync()
        rig.pods(1, 2)
        rig.wait_servers(1, 2)
        rig.wait_in_sync()
        status, text = rig.daemon.get("/metrics")
        assert status == 200
        return text


def test_promtool_takes_the_metrics(page: str) -> None:
    done = promtool("check", "metrics", stdin=page)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), done.stdout + done.stderr


def test_promtool_takes_the_operators_metrics(tmp_path_factory: pytest.TempPathFactory) -> None:
    with Rig(tmp_path_factory.mktemp("rig")) as rig:
        rig.kube.put(secret(rig.haproxy.config.read_text() + "\nbackend more\n  mode tcp\n"))
        rig.daemon = Daemon(rig.home / "daemon", rig.settings(**SOURCE), program()).start()
        rig.daemon.wait_metric("configuration_applied", 1)
        text = rig.daemon.get("/metrics")[1]
    assert "\nhaproxy_operator_config_hash{" in text
    done = promtool("check", "metrics", stdin=text)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), done.stdout + done.stderr


def test_promtool_refuses_what_is_wrong(page: str) -> None:
    assert promtool("check", "metrics", stdin=page + "# HELP x X.\n# TYPE x counter\nx 1\n").returncode != 0


def test_what_the_source_registers_is_what_is_said(page: str) -> None:
    """So that the alerts' and the dashboard's queries may be checked against the source."""
    said = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE ")}
    assert said == families() and len(known_metrics()) > 30
