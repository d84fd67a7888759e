"""HAProxies that are pods (`targets` of a template set): they come and go, and each gets the configuration that the others have."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import pytest

from tests.harness.process import wait_until

from .pod_site import SAYS, SET, Site, pod
from .test_template_source import ingress


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    with Site(tmp_path) as made:
        made.kube.put(ingress("one"), made.config_map())
        yield made


def test_pods_come_and_go(site: Site) -> None:
    site.kube.put(pod(1), pod(2, phase="Pending"), pod(3, podIP=None))
    site.run()
    assert site.daemon
    site.await_applied(1)
    assert site.has(1, 1) and site.status() == {site.url(1): "lb/haproxy-1"}
    worker, writes = site.pairs[0].haproxy.worker(), len(site.pairs[0].dataplane.requests())
    site.kube.put(pod(2))
    site.await_applied(2)
    assert site.has(2, 1) and site.pairs[0].haproxy.worker() == worker, "only the new one is written to"
    assert not [r for r in site.pairs[0].dataplane.requests()[writes:] if r["method"] != "GET"]
    site.daemon.wait_metric("configuration_applied", 1, target=site.url(2))
    site.kube.put(ingress("two"))
    wait_until(lambda: site.has(1, 2) and site.has(2, 2), 30, "both follow")
    site.await_applied(1, 2)
    site.kube.delete(pod(1))
    wait_until(lambda: site.status() == {site.url(2): "lb/haproxy-2"}, 20, "the first one is gone")
    assert site.ready_line(1) == "" and site.daemon.ready() and "1 of app=haproxy in lb run" in site.daemon.get("/readyz")[1]
    wait_until(lambda: site.url(1) not in site.daemon.get("/metrics")[1], 20, "so are its metrics")
    site.kube.put(pod(2, "127.0.12.3"))
    site.await_applied(3)
    assert site.has(3, 2)
    wait_until(lambda: site.status() == {site.url(3): "lb/haproxy-2"}, 20, "the one at its address before is gone")
    log = site.daemon.log()
    assert f"pod=lb/haproxy-2 target={site.url(3)}" in log and "is no target any more" in log


def test_where_haproxy_is_stands_in_one_place(site: Site) -> None:
    site.kube.put(pod(1))
    site.run(HAPROXY_DATAPLANE_URL=site.url(2))
    assert site.daemon
    wait_until(lambda: "it has targets (pods), and HAPROXY_DATAPLANE_URL is set: expected one of the two" in site.daemon.get("/readyz")[1], 20, "both")
    assert not site.has(1, 1) and not site.has(2, 1)
    site.daemon.close()
    nowhere = site.config_map()
    nowhere["data"]["set.yaml"] = SET
    site.kube.put(nowhere)
    site.run()
    wait_until(lambda: "it has no targets, and neither HAPROXY_DATAPLANE_URL nor HAPROXY_CONFIG_FILE is set" in site.daemon.get("/readyz")[1], 20, "neither")
    site.kube.put(site.config_map())
    site.await_applied(1)
    assert site.has(1, 1)
    site.kube.put(site.config_map("extra: {a: 1}\n").copy() | {"data": site.config_map()["data"] | {"set.yaml": site.config_map()["data"]["set.yaml"].replace("app: haproxy", "app: other")}})
    wait_until(lambda: site.status() == {} and "0 of app=other in lb run" in site.daemon.get("/readyz")[1], 20, "other pods, of which there are none")


def test_places_are_those_of_any_pod_and_none_is_waited_for(site: Site) -> None:
    """The first one to answer after a restart is new, and has none."""
    def give(*numbers: int) -> None:
        addresses = [f"127.0.0.{n}:1" for n in numbers]
        site.kube.put(site.config_map(says=f"{SAYS}backend places\n{{% for one in {addresses}|slots(4, 'places') %}}\n"
                                           "  server s{{ loop.index }} {{ one or '127.0.9.9:1 disabled' }}\n{% endfor %}\n"))

    def places(number: int) -> list[str]:
        text = site.pairs[number - 1].dataplane.file()
        return re.findall(r"^ +server s\d+ 127\.0\.0\.(\d):1", text, re.M)

    give(1, 5, 6, 8)
    site.run()
    assert site.daemon
    site.daemon.wait_ready()
    assert "[+]configuration source: waits for HAProxy" in site.daemon.get("/readyz")[1] and "0 of app=haproxy in lb run" in site.daemon.get("/readyz")[1]
    site.kube.put(pod(2))
    site.await_applied(2)
    cold = places(2)
    for numbers in ((5, 6, 7, 8), (1, 6, 7, 8), (1, 5, 6, 8)):
        give(*numbers)
        wait_until(lambda numbers=numbers: sorted(places(2)) == [str(n) for n in numbers], 30, f"{numbers}")
    kept = places(2)
    site.daemon.stop()
    site.kube.put(pod(1))
    site.run()
    site.await_applied(1, 2)
    assert places(1) == places(2) == kept != cold
