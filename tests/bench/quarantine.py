"""Ingresses that HAProxy refuses among many: how long until all others are served again, and with how many checks of the configuration.

The shipped template set `ingress` lets nothing through that HAProxy is known to refuse, so that a copy of it writes one annotation unread."""

from __future__ import annotations

import copy
import pathlib
import re
import time
from typing import Any

from tests.harness.process import wait_until

from . import report
from .ingress_fixtures import objects
from .template_stage import TemplateStage

INGRESSES, ENDPOINTS, WAIT_S = 1000, 3, 60
UNREAD = """
{% for i in resources.ingresses if "unread" in i.metadata.annotations|default({}) %}
backend unread-{{ i.metadata.name }}
  timeout server {{ i.metadata.annotations.unread }}
{% endfor %}
"""
BAD = "30d"  # more than a timer of HAProxy holds
FOUND = re.compile(r'msg="search for objects that HAProxy refuses ended" found=(\d+) checks=(\d+)')
Object = dict[str, Any]


def _asks(ingress: Object, timeout: str) -> Object:
    changed = copy.deepcopy(ingress)
    changed["metadata"]["annotations"] = {"unread": timeout}
    return changed


def _figure(stage: TemplateStage, what: str, refused: list[Object], good: Object) -> None:
    """They come together with a change of a good one."""
    before, name = len(FOUND.findall(stage.daemon.log())), f"backend unread-{good['metadata']['name']}\n"
    began = time.monotonic()
    stage.kube.put(*(_asks(one, BAD) for one in refused), _asks(good, "1s"))
    wait_until(lambda: name in stage.haproxy.config.read_text(), WAIT_S, "the good change is in haproxy.cfg")
    served = time.monotonic() - began
    wait_until(lambda: len(FOUND.findall(stage.daemon.log())) > before, WAIT_S, "the search has ended")
    report.figure(f"{what}: the others served", f"{served:.2f} s", "<= 5 s")
    report.figure(f"{what}: checks, with found", " + ".join(f"{checks} ({found})" for found, checks in FOUND.findall(stage.daemon.log())[before:]))


def measure(home: pathlib.Path) -> None:
    report.heading(f"{INGRESSES:,} Ingresses of which HAProxy refuses some")
    stage = TemplateStage(home / "quarantine", objects(INGRESSES, ENDPOINTS))
    with (stage.set / "haproxy.cfg.j2").open("a") as text:
        text.write(UNREAD)
    with stage.started():
        all_of = stage.objects["ingresses"]
        _figure(stage, "one that changes", [all_of[500]], all_of[1])
        _figure(stage, "three that change", [all_of[2], all_of[600], all_of[999]], all_of[3])
