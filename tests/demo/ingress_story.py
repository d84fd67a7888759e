"""What happens in the demo of Ingresses, and which way each change went."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Sequence

from tests.harness.process import wait_until

from .ingress import FIRST_PODS, NAMESPACE, IngressBalancer
from .screen import Screen
from .show import Show, ask, events
from .traffic import Traffic, counts

HOST, SECURE = "shop.example", "secure.shop.example"
SNIPPET = "snippets/ingress-backend.j2"
RIGHT, WRONG = "  balance {{ options[1] or balance }}", "  balance {{ options[1] or balanse }}"
SETTLED_ANSWERS = 40
"""So many answers in a row without a pod: it is out of the rotation."""


class IngressStory(Show):
    def __init__(self, stage: IngressBalancer, screen: Screen):
        self.stage, self.traffic = stage, Traffic(stage.haproxy.port, HOST)
        super().__init__(stage, screen, self.traffic)

    def play(self) -> None:
        stage, screen = self.stage, self.screen
        screen.heading("1. No Ingress yet: HAProxy gets a configuration without a route")
        self.step("the daemon starts", "reload", self._started, lambda: self.answer(HOST) == "404 no route")
        self.show(HOST)
        screen.heading(f"2. A Service, its pods and an Ingress for {HOST} are applied")
        self.step("an Ingress", "reload", self._first_ingress, lambda: self.answer(HOST).startswith("200 shop-"))
        screen.quote((stage.manifests / "shop-ingress.yaml").read_text())
        self.show(HOST)
        screen.say("from here on a client asks for it all the time: no request may fail")
        self.ask_all_the_time()
        screen.heading("3. A host and a path more for the same Service: lines of a map, no reload")
        self.step("a host and a path more", "runtime", lambda: stage.ingress("www", "www.shop.example", {"/cart": "shop"}),
                  lambda: self.answer("www.shop.example", "/cart/7").startswith("200 shop-"))
        self.show("www.shop.example", "/cart/7")
        self.show_map("prefix.map")
        screen.heading("4. A TLS Secret and an Ingress that names it: https")
        self.step("https", "reload", self._secured, lambda: self.secure_answer().startswith("200 shop-"))
        self.show(SECURE)
        screen.say(f"https://{SECURE}/ -> {self.secure_answer()}, with the certificate of the Secret")
        screen.heading("5. A typing error in a template: it is refused with its place, and what runs stays")
        self.step("a typing error", "refused", lambda: f"edited: {stage.edit(SNIPPET, RIGHT, WRONG)}", self._refused)
        self.show_refusal()
        screen.say(stage.ingress("late", "late.shop.example", {"/": "shop"}))
        self.step("repaired: an Ingress waited", "runtime", lambda: f"edited: {stage.edit(SNIPPET, WRONG, RIGHT)}",
                  lambda: self.answer("late.shop.example").startswith("200 shop-"))
        self.show("late.shop.example")
        screen.heading("6. A rollout: one pod after the other is replaced")
        self.step("a rollout of three pods", "runtime", self._rolled, lambda: True)
        screen.heading("7. Another Ingress wants the same host and path: the older one keeps them, the rest of the younger one goes on")
        self.step("two of one path", "reload", self._taken_over, lambda: self.answer(HOST, "/blog") == "200 blog-1" and bool(self._complaints()))
        self.show(HOST, "/blog")
        for text in self._complaints():
            screen.say(f"Event: {text}")
        if "blog-1" in counts(self.traffic.since(0)):
            raise AssertionError("the younger Ingress got requests of the older one")

    # --- answers

    def answer(self, host: str, path: str = "/") -> str:
        return ask(self.stage.haproxy.port, host, path)

    def secure_answer(self) -> str:
        """The certificate has to be that of the Secret."""
        try:
            context = ssl.create_default_context(cafile=str(self.certificate))
            connection = http.client.HTTPConnection(SECURE, self.stage.tls_port)
            connection.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", self.stage.tls_port), 5), server_hostname=SECURE)
            with contextlib.closing(connection):
                connection.request("GET", "/")
                said = connection.getresponse()
                return f"{said.status} {said.read().decode().strip()}"
        except (OSError, http.client.HTTPException):
            return ""

    def show(self, host: str, path: str = "/") -> None:
        self.screen.say(f"curl -H 'Host: {host}' http://127.0.0.1:{self.stage.haproxy.port}{path} -> {self.answer(host, path)}")

    def show_map(self, name: str) -> None:
        """As HAProxy has it in memory."""
        ask = self.stage.haproxy.runtime
        found = re.search(rf"\((\S+/{re.escape(name)})\)", ask("show map"))
        assert found, f"HAProxy has no {name}"
        self.screen.say(f"{name}, as HAProxy has it now:")
        for line in sorted(line.partition(" ")[2] for line in ask(f"show map {found[1]}").splitlines() if line):
            self.screen.say(f"  {line}")

    # --- what is changed

    def _started(self) -> str:
        self.stage.daemon.start()
        return f"started: the daemon, with TEMPLATE_FROM=file:{self.stage.set}"

    def _first_ingress(self) -> str:
        stage = self.stage
        return "\n   ".join([*self._served("shop", FIRST_PODS), stage.ingress("shop", HOST, {"/": "shop"})])

    def _served(self, name: str, pods: Sequence[str]) -> list[str]:
        """Until the daemon has both: an Ingress that comes by another watch may overtake them, and would cost a reload of its own."""
        said = [self.stage.service(name), self.stage.endpoints(name, dict.fromkeys(pods, True))]
        for resource, ending in (("services", "service"), ("slices", "endpointslice")):
            count = len(list(self.stage.manifests.glob(f"*-{ending}.yaml")))
            wait_until(lambda r=resource, n=count: self.stage.daemon.metrics().value("template_objects", resource=r) == n, 20, f"{count} {resource}")
        return said

    def _secured(self) -> str:
        self.certificate = self.stage.secret("shop-tls", SECURE).certificate
        return "applied: shop-tls-secret.yaml\n   " + self.stage.ingress("secure", SECURE, {"/": "shop"}, secret="shop-tls")

    def _rolled(self) -> str:
        """As a Deployment does it: the new pod is ready before the old one ends."""
        stage, pods = self.stage, dict.fromkeys(FIRST_PODS, True)
        self.screen.say("edited three times for each pod: shop-endpointslice.yaml")
        for old, new in zip(FIRST_PODS, ("shop-4", "shop-5", "shop-6"), strict=True):
            started = time.monotonic()
            stage.add_backend(new)
            pods[new] = True
            stage.endpoints("shop", pods)
            self._await(lambda: new in counts(self.traffic.since(started)), f"traffic to reach {new}")
            pods[old] = False
            stage.endpoints("shop", pods)
            self._await(lambda: self._left(old), f"traffic to leave {old}")
            del pods[old]
            stage.endpoints("shop", pods)
            stage.remove_backend(old)
            self.screen.say(f"{new} for {old}: {(time.monotonic() - started) * 1000:.0f} ms")
        return "traffic is answered by " + ", ".join(sorted(pods))

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        wait_until(lambda: self.stage.alive() and condition(), 15, what)

    def _left(self, pod: str) -> bool:
        recent = self.traffic.last(SETTLED_ANSWERS)
        return len(recent) == SETTLED_ANSWERS and pod not in counts(recent)

    def _taken_over(self) -> str:
        stage = self.stage
        return "\n   ".join([*self._served("blog", ["blog-1"]), stage.ingress("takeover", HOST, {"/": "blog", "/blog": "blog"})])

    def _complaints(self) -> list[str]:
        return [text for text in events(self.stage.kube.url, NAMESPACE) if "ingress/takeover" in text]

    def _refused(self) -> bool:
        return SNIPPET.split("/")[1].removesuffix(".j2") + ":" in self.stage.daemon.get("/readyz")[1]

    def show_refusal(self) -> None:
        stage, screen = self.stage, self.screen
        screen.say("/readyz says:")
        screen.quote(stage.daemon.get("/readyz")[1])
        screen.say(f"So does, without a cluster: haproxy-k8s-sync template test {stage.set} --test='hosts and paths'")
        screen.quote(stage.ask_daemon("template", "test", str(stage.set), "--test=hosts and paths"))
        if not self.answer(HOST).startswith("200 shop-"):
            raise AssertionError("what ran does not run any more")

    def show_places(self) -> None:
        stage, screen = self.stage, self.screen
        screen.say("Edit an Ingress, or a template, and watch:")
        for path in (stage.manifests / "www-ingress.yaml", stage.set / "haproxy.cfg.j2"):
            screen.say(f"  {os.environ.get('EDITOR', 'vi')} {path}")
        screen.say("What does the set make of the objects that stand in it, and do its tests pass?")
        for word in ("render", "test"):
            screen.say(f"  {stage.daemon.binary} template {word} {stage.set}")
