"""A file that its owner changes again and again under 200 new connections a second: one reload for each change, and nobody lost."""

from __future__ import annotations

import pathlib
import re

import pytest

from tests.harness.backends import node_port
from tests.harness.load import Load
from tests.harness.nodes import Nodes

from .sites import Sites

NODES = {f"node-{i}": f"127.0.17.{i}" for i in range(1, 5)}
CHANGES, RATE, VISITS = 20, 200.0, 12


def servers(names: list[str], port: int) -> str:
    return "".join(f"  server {name} {NODES[name]}:{port} check\n" for name in names)


def edition(first: str, number: int, port: int, home: pathlib.Path) -> str:
    """Each differs from the one before by sections, lines of the busy frontend and backend, or servers of that."""
    names = list(NODES)[:2 + number % 3]
    text = re.sub(r"  server old .*\n", lambda _: servers(names, port), first)
    rules = "".join(f"  acl from-{i} src 127.0.9.{i}\n  use_backend extra-{i} if from-{i}\n" for i in range(number % 4))
    text = text.replace("  default_backend ingress\n", f"{rules}  default_backend ingress\n")
    text = text.replace("  balance leastconn\n", f"  balance {('leastconn', 'roundrobin')[number % 2]}\n  timeout server {30 + number}s\n")
    for i in range(number % 4):
        text += f"\nbackend extra-{i}\n  mode tcp\n{servers(names, port)}"
    if number % 5 == 0:
        text += f"\nfrontend also-{number}\n  mode tcp\n  bind unix@{home}/also-{number}.sock\n  default_backend ingress\n"
    return text


@pytest.mark.every_local
def test_twenty_changes_cost_twenty_reloads_and_no_connection(sites: Sites, tmp_path: pathlib.Path) -> None:
    haproxy, _ = sites.list[0]
    first = haproxy.dir.joinpath("first.cfg").read_text()
    port = node_port(NODES.values())
    with Nodes(NODES, port, tmp_path / "nodes"):
        sites.source.write_text(edition(first, 0, port, tmp_path))
        daemon = sites.start(CONFIG_MIN_INTERVAL="0")
        daemon.wait_log('msg="configuration applied"', 30)
        counted, known = haproxy.reloads(), daemon.metrics().sum("reloads_total")
        workers = [haproxy.worker()]
        with Load(haproxy.port, tmp_path / "load", rate=RATE, visits=VISITS) as load:
            for number in range(1, CHANGES + 1):
                seen = len(daemon.log())
                sites.put(edition(first, number, port, tmp_path))
                daemon.wait_log('msg="configuration applied"', 30, seen)
                workers.append(haproxy.worker())
            traffic = load.stop()
    print(f"{sites.combination}: {traffic.describe()}")
    assert len(set(workers)) == CHANGES + 1
    assert haproxy.reloads() - counted == CHANGES
    assert daemon.metrics().sum("reloads_total") - known == CHANGES
    assert not traffic.failed and not traffic.broken, traffic.describe()
    assert len(traffic.visits) == VISITS, traffic.describe()
