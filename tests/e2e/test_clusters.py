"""Several clusters behind one backend of one HAProxy: each daemon manages its own servers and leaves the others'. Three real API servers,
nodes of the same names."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tests.harness import parts, realparts
from tests.harness.backends import wait_traffic
from tests.harness.process import wait_until
from tests.harness.realkube import RealKube

from .clusters import Clusters, up
from .conftest import ONE_WORKER
from .world import World

pytestmark = ONE_WORKER


@pytest.fixture(scope="module")
def apiservers(tmp_path_factory: pytest.TempPathFactory, kubes: dict[str, RealKube]) -> Iterator[list[RealKube]]:
    """The two that other cases have, too, and a third."""
    with parts.or_skip():
        first, second = kubes["etcd"], kubes["etcd-debian"]
    with RealKube(tmp_path_factory.mktemp("cluster-c"), realparts.kube_apiserver(), realparts.PARTS["etcd"]()) as third:
        yield [first, second, third]


@pytest.fixture
def clusters(world: World, apiservers: list[RealKube]) -> Iterator[Clusters]:
    made = Clusters(world, apiservers)
    with made.ends:
        yield made


def test_one_cluster_dies_comes_back_and_leaves(clusters: Clusters, world: World) -> None:
    a, b, c = clusters.list
    clusters.serve("node-1", "node-2")
    with clusters.under_load():
        for cluster in clusters.list:
            cluster.answers("node-1", "node-2")

        # Its API server dies, then all that it has. Its servers stay: nobody says that they are to go.
        a.kube.stop_apiserver()
        lines = a.lines()
        for node in ("node-1", "node-2"):
            begin = time.monotonic()
            a.nodes.kill(f"a.{node}")
            clusters.deaths.append((begin, time.monotonic()))
        wait_until(lambda: not a.names("node-1", "node-2") & up(world), 30, "HAProxy's checks to see that cluster a is gone")
        b.pods("node-2", "node-3")
        b.expect("node-2", "node-3")
        b.in_sync()
        b.answers("node-2", "node-3")
        c.answers("node-1", "node-2")
        assert a.lines() == lines

        # It comes back, with a pod elsewhere.
        for node in ("node-1", "node-2"):
            a.nodes.listen(f"a.{node}")
        a.kube.start_apiserver()
        a.pods("node-1", "node-3")
        a.expect("node-1", "node-3")
        a.in_sync()
        a.answers("node-1", "node-3")
        assert b.rotation() == b.names("node-2", "node-3") and c.rotation() == c.names("node-1", "node-2")

        # It leaves: no pod any more, so its last servers go, as others are UP.
        a.pods()
        a.expect()
        a.in_sync()
        a.daemon.stop()
        lines = a.lines()
        assert all("disabled" in line.split() for line in lines.values())
        c.pods("node-3")
        c.expect("node-3")
        c.in_sync()
        c.answers("node-3")
        assert a.lines() == lines, "another cluster's daemon changed what cluster a left"

        # It is released: its lines go, and no other's.
        others = {**b.lines(), **c.lines()}
        status, said = a.release("--yes")
        assert status == 0 and f"{len(lines)} lines removed" in said, said
        assert not a.lines() and {**b.lines(), **c.lines()} == others
        b.in_sync()
        c.answers("node-3")
    assert clusters.reverted(b, c) == 0


@pytest.mark.one_combination
def test_last_server_stays_while_no_other_cluster_is_up(clusters: Clusters, world: World) -> None:
    a, b, c = clusters.list
    clusters.serve("node-1", RESYNC_PERIOD="1s")
    for cluster in (b, c):
        cluster.nodes.kill(f"{cluster.name}.node-1")
    wait_until(lambda: up(world) & set(clusters.all_lines()) == {"a_node-1"}, 30, "the nodes of b and c to be DOWN")
    a.pods()
    a.daemon.wait_log('msg="no usable endpoint; keeping the last servers".*no other cluster has a server in this backend that is UP')
    assert a.rotation() == a.names("node-1")
    status, body = a.daemon.get("/readyz")
    assert status == 200 and "so the last servers of cluster a stay (1)" in body
    # One of another cluster is UP again: now they go.
    b.nodes.listen("b.node-1")
    a.expect()
    a.in_sync()
    wait_traffic(world.haproxy.port, ["b.node-1"])


def test_writers_at_the_same_time_all_come_to_an_end(clusters: Clusters, world: World) -> None:
    """Each change adds or removes a line: by a Data Plane API that is a transaction, and two of them conflict by their version."""
    clusters.serve("node-1", PARK_TTL="0s")
    moves = (("node-1", "node-2", "node-3"), ("node-2",), ("node-3", "node-1"), ("node-1", "node-2"))
    took: dict[str, list[float]] = {cluster.name: [] for cluster in clusters.list}

    def move(index: int) -> None:
        cluster = clusters.list[index]
        for nodes in moves:
            begin = time.monotonic()
            cluster.pods(*nodes)
            cluster.expect(*nodes)
            took[cluster.name].append(time.monotonic() - begin)

    threads = [threading.Thread(target=move, args=(i,)) for i in range(len(clusters.list))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert all(len(seconds) == len(moves) for seconds in took.values()), f"a writer starved: {took}"
    print(f"{world.combination}: seconds for each change of each cluster: {took}")
    for cluster in clusters.list:
        cluster.expect("node-1", "node-2")
        cluster.in_sync()
    assert clusters.reverted() == 0
