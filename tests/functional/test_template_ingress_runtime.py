"""What the shipped template set `ingress` renders, on a HAProxy of this machine: a rolling update, new hosts, a renewed certificate and a change of
the default backend are no reload, by the sockets alone."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import http
from tests.harness.certificates import der, self_signed
from tests.harness.daemon import Daemon
from tests.harness.haproxy import haproxy_binary
from tests.harness.process import wait_until

from .ingress_set import Object, backend, certificate_for, endpoint, endpoint_slice, ingress, render, rule, secret, service, web
from .test_local import await_log
from .test_local_files import APPLIED, Site

pytestmark = pytest.mark.skipif(haproxy_binary() is None, reason="no HAProxy here")


class Routed(Site):
    def push(self, objects: dict[str, list[Object]], **extra: Any) -> None:
        """Files first: the daemon takes haproxy.cfg when it has them."""
        rendered = render(self.home, objects, **{
            "http_bind": [f"127.0.0.1:{self.haproxy.port}"], "https_bind": [f"127.0.0.1:{self.tls}"], "log": "stdout format raw local0",
            "stats_socket": f"{self.haproxy.socket} mode 600 level admin expose-fd listeners", "server_options": "no-check", **extra})
        for name, text in rendered.files.items():
            folder, _, file = name.partition("/")
            self.give(f"{ {'certificates': 'certs'}.get(folder, folder) }/{file}", self._here(text))
        self.put(self._here(rendered.config))

    def _here(self, text: str) -> str:
        return text.replace("/etc/haproxy/", f"{self.own}/")

    def body(self, host: str, path: str = "/") -> str:
        return http.request(f"http://127.0.0.1:{self.haproxy.port}", "GET", path, headers={"Host": host}).text

    def answers(self, host: str, *words: str) -> None:
        wait_until(lambda: {self.body(host) for _ in range(12)} == set(words), 20, f"{host} answers {words}")


@pytest.fixture
def routed(tmp_path: pathlib.Path) -> Iterator[Routed]:
    made = Routed(tmp_path)
    with made.haproxy:
        yield made


def started(routed: Routed, daemon: Daemon) -> int:
    """The worker once all is known to run: the first configuration takes a reload."""
    await_log(daemon, APPLIED)
    wait_until(daemon.ready, 20, "ready")
    return routed.haproxy.worker()


def test_changes_that_take_no_reload(routed: Routed) -> None:
    pairs = [self_signed(routed.home, "shop.example.com")]
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(web(f"pod-{n}")) for n in range(4)]

        def objects(pods: list[int], *more: Object) -> dict[str, list[Object]]:
            return {"ingresses": [ingress("shop", rule("shop.example.com", ("Prefix", "/", "shop")), tls=[{"hosts": ["shop.example.com"], "secretName": "s"}],
                                          notes={"haproxy-k8s-sync/ssl-redirect": "false"}), *more],
                    "services": [service("shop")], "secrets": [secret("s", pairs[-1])],
                    "slices": [endpoint_slice("shop", endpoint("127.0.0.1", ready=True), port=ports[n], name=f"shop-{n}") for n in pods]}
        routed.push(objects([0, 1]))
        daemon = stack.enter_context(routed.daemon())
        routed.answers("shop.example.com", "pod-0", "pod-1")
        worker = started(routed, daemon)

        for pods in ([0, 1, 2], [1, 2], [1, 2, 3], [2, 3]):  # a rolling update
            routed.push(objects(pods))
            routed.answers("shop.example.com", *(f"pod-{n}" for n in pods))

        news = ingress("news", rule("*.news.example.com", ("Prefix", "/a", "shop"), ("Exact", "/b", "shop")), defaultBackend=backend("shop"))
        routed.push(objects([2, 3], news))
        wait_until(lambda: routed.body("x.news.example.com", "/a/1").startswith("pod-"), 20, "a new host")
        assert routed.body("y.example.com") == "no route"
        routed.push(objects([2, 3], news, ingress("all", defaultBackend=backend("shop"))))
        wait_until(lambda: routed.body("y.example.com").startswith("pod-"), 20, "a default backend")
        routed.push(objects([2, 3]))
        wait_until(lambda: routed.body("x.news.example.com", "/a/1") == "no route", 20, "no more that host")

        pairs.append(self_signed(routed.home, "shop.example.com"))
        routed.push(objects([2, 3]))
        wait_until(lambda: certificate_for(routed.tls, "shop.example.com") == der(pairs[-1].certificate), 20, "the renewed certificate")
        wait_until(daemon.ready, 20, "ready")
        assert routed.haproxy.worker() == worker, "a reload made another one\n" + daemon.tail()
