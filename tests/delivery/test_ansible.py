"""The Ansible role on a load balancer: played twice under a real systemd, with HAProxy by its file and by a Data Plane API."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.rig import Rig
from tests.harness.haproxy import AUTH
from tests.harness.process import ROOT, free_port

from . import package
from .machine import Machine, marks
from .test_package_local import CONFIG, Beside, balancer, has_haproxy
from .test_package_service import UNIT, Balancer

ROLE = ROOT / "deploy/ansible/haproxy_k8s_sync"
needs_ansible = pytest.mark.skipif(shutil.which("ansible-playbook") is None, reason="no ansible-playbook here (Debian's package ansible-core)")
pytestmark = [*marks, package.needs_debhelper, needs_ansible]


def play(machine: Machine, deb: pathlib.Path, status: int = 0, **given: Any) -> tuple[str, int]:
    """What it says, and how many tasks changed something."""
    path = machine.path("/root/roles")
    if not path.exists():
        shutil.copytree(ROLE, path / ROLE.name)
        machine.copy(deb, "/root")
    values = {f"haproxy_k8s_sync_{name}": value for name, value in {"package": f"/root/{deb.name}", **given}.items()}
    machine.write("/root/site.yml", json.dumps([{"hosts": "all", "gather_facts": False, "vars": values, "roles": [ROLE.name]}]))
    done = machine.call("sh", "-c", "cd /root && ANSIBLE_NOCOLOR=1 ansible-playbook -i localhost, -c local site.yml")
    assert done.returncode == status, done.stdout + done.stderr
    found = re.search(r"^localhost +: ok=\d+ +changed=(\d+)", done.stdout, re.M)
    assert found, done.stdout + done.stderr
    return done.stdout, int(found[1])


@pytest.fixture
def beside(tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Beside]:
    with balancer(tmp_path, tmp_path_factory) as made:
        yield made


@has_haproxy
def test_by_the_file_of_haproxy(beside: Beside) -> None:
    machine = beside.machine
    settings = {"INGRESS_NAMESPACE": "ingress", "INGRESS_SERVICE_NAME": "web", "HAPROXY_BACKEND_NAME": "be", "HAPROXY_BACKEND_PORT": 30443,
                "HAPROXY_BALANCE": "keep", "HAPROXY_ADV_CHECK": "keep", "LISTEN_ADDRESS": f"127.0.0.1:{beside.pages}", "PARK_TTL": 0,
                "EMIT_EVENTS": False}
    given = {"settings": settings, "kubeconfig": machine.path("/root/kubeconfig").read_text(), "readable": ["/etc/haproxy/certs"], "doctor": False}
    _, changed = play(machine, beside.deb, **given)
    assert changed > 5
    beside.wait_servers("n1", "n2")
    worker = beside.worker()
    assert beside.text().split("# kept by the daemon")[0] == beside.first.split("# kept by the daemon")[0]
    restarted = machine.value(UNIT, "ExecMainStartTimestampMonotonic")
    assert play(machine, beside.deb, **given)[1] == 0, "what is right already stays as it is"
    # A mistake stops the play before the daemon that runs.
    said, _ = play(machine, beside.deb, 2, **{**given, "settings": {**settings, "HAPROXY_BALANCE": "best"}})
    assert "HAPROXY_BALANCE" in said
    assert machine.value(UNIT, "ExecMainStartTimestampMonotonic") == restarted and beside.worker() == worker
    assert machine.run("stat", "-c", "%U", CONFIG) == "haproxy-k8s-sync\n"


def test_by_a_data_plane_api(tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    user, password = AUTH.split(":")
    home = package.folder(tmp_path_factory)
    with Rig(tmp_path) as rig, Machine(tmp_path / "balancer") as machine:
        lb = Balancer(machine, rig, home)
        settings = rig.settings(HAPROXY_DATAPLANE_USERNAME=user, LISTEN_ADDRESS=f"127.0.0.1:{free_port()}", HAPROXY_DATAPLANE_PASSWORD="", KUBECONFIG="")
        rig.pods(1, 2)
        given = {"local": False, "password": password, "settings": {name: value for name, value in settings.items() if value},
                 "kubeconfig": rig.kube.kubeconfig(rig.home / "kubeconfig").read_text()}
        said, changed = play(machine, lb.deb, **given)
        assert changed > 3 and password not in said.replace(user, "")
        lb.wait_in_step(1, 2)
        assert play(machine, lb.deb, **given)[1] == 0
