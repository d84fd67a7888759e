"""What happens in the demo of annotated Services, on both load balancers, and which way each change went."""

from __future__ import annotations

import contextlib
import http.client
import os
import time
from collections.abc import Callable

from tests.harness import http as requests
from tests.harness.process import wait_until

from .balancer import RELOAD_DELAY_S
from .ingress_story import HEAD, Step
from .screen import Screen
from .services import CLUSTER, LoadBalancer, ServicesBalancer
from .traffic import Traffic

HOST, BLOG, NEWS = f"{CLUSTER}-shop.example", "blog.example", "news.example"


class ServicesStep(Step):
    @property
    def surprise(self) -> bool:
        """One of each of both."""
        return self.reloads != (2 if self.way == "reload" else 0)


class ServicesStory:
    def __init__(self, stage: ServicesBalancer, screen: Screen):
        self.stage, self.screen = stage, screen
        self.traffic = {one.name: Traffic(one.port, HOST) for one in stage.both}
        self.steps: list[ServicesStep] = []
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> "ServicesStory":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def play(self) -> None:
        stage, screen = self.stage, self.screen
        screen.heading("1. The daemons start: no Service has the label, so nothing is written")
        for one in stage.both:
            one.daemon.start()
        for one in stage.both:
            one.daemon.wait_not_ready("no Service has the label of SERVICES_LABEL")
        screen.say(stage.daemon.get("/readyz")[1].split("configuration source: ")[-1].splitlines()[0])
        screen.heading(f"2. The Service shop is annotated: CLUSTER-shop.example, which is {HOST} here")
        self.step("a Service is annotated", "reload", lambda: stage.annotate("shop", {"hostname": "CLUSTER-shop.example"}), lambda one: self.answer(one, HOST).startswith("200 node-"))
        screen.quote((stage.manifests.directory / "shop-service.yaml").read_text())
        self.show(HOST)
        screen.say("from here on a client asks both for it all the time: no request may fail")
        for traffic in self.traffic.values():
            self.stack.enter_context(traffic)
        screen.heading("3. Another Service")
        self.step("another Service", "reload", lambda: stage.annotate("blog", {"hostname": BLOG}), lambda one: self.answer(one, BLOG).startswith("200 blog on "))
        self.show(BLOG)
        screen.heading("4. It has another host name, and a path: lines of maps, no reload")
        self.step("another host name, a path", "runtime", lambda: stage.annotate("blog", {"hostname": NEWS, "path": "/today"}),
                  lambda one: self.answer(one, NEWS, "/today/1").startswith("200 blog on ") and self.answer(one, BLOG).startswith("503"))
        self.show(NEWS, "/today/1")
        self.show(BLOG)
        screen.heading("5. A typing error: that port is not served, its Service has an Event, all else goes on")
        self.step("a typing error", "reload", lambda: stage.annotate("blog", {"hostname": NEWS, "path": "today"}),
                  lambda one: self.answer(one, NEWS, "/today/1").startswith("503") and bool(self._complaints()))
        self.show(NEWS, "/today/1")
        for text in self._complaints():
            screen.say(f"Event: {text}")
        screen.say("So does: haproxy-k8s-sync services explain shop/blog")
        screen.quote(stage.ask_daemon("services", "explain", "shop/blog"))
        screen.heading("6. It is repaired")
        self.step("repaired", "reload", lambda: stage.annotate("blog", {"hostname": NEWS, "path": "/today"}), lambda one: self.answer(one, NEWS, "/today/1").startswith("200 blog on "))
        self.show(NEWS, "/today/1")

    # --- a step

    def step(self, what: str, way: str, change: Callable[[], object], happened: Callable[[LoadBalancer], bool]) -> None:
        stage, started = self.stage, time.monotonic()
        reloads = stage.reloads()
        self.screen.say(f"applied: {change()}")
        wait_until(lambda: stage.alive() and all(happened(one) for one in stage.both), 20, what, interval=0.002)
        took_ms = (time.monotonic() - started) * 1000
        for one in stage.both:
            one.daemon.wait_ready()
        asked = [answer for traffic in self.traffic.values() for answer in traffic.since(started)]
        step = ServicesStep(what, way, took_ms, stage.reloads() - reloads, len(asked), sum(not answer.node for answer in asked))
        self.steps.append(step)
        self.screen.good(f"{way} after {took_ms:.0f} ms, reloads of both: {step.reloads}; {step.requests} requests meanwhile, {step.failed} failed")
        if step.surprise:
            self.screen.bad(f"but {step.reloads} reloads")

    def answer(self, one: LoadBalancer, host: str, path: str = "/") -> str:
        """Status and text; "" where nobody answers."""
        try:
            said = requests.request(f"http://127.0.0.1:{one.port}", "GET", path, headers={"Host": host})
        except (OSError, http.client.HTTPException):
            return ""
        return f"{said.status} {said.text.strip() if said.status == 200 else ''}".strip()

    def show(self, host: str, path: str = "/") -> None:
        for one in self.stage.both:
            self.screen.say(f"{one.name}: curl -H 'Host: {host}' http://127.0.0.1:{one.port}{path} -> {self.answer(one, host, path)}")

    def _complaints(self) -> list[str]:
        return [text for text in self.stage.events() if "service/blog" in text]

    # --- the end

    def summary(self) -> bool:
        """The table; True when everything happened and nothing failed."""
        screen = self.screen
        total, failed = (sum(getattr(traffic, what) for traffic in self.traffic.values()) for what in ("total", "failed"))
        screen.heading("Summary")
        screen.table(HEAD, [step.row() for step in self.steps])
        screen.say("")
        screen.say("way: reload, of each HAProxy, or runtime: the running HAProxy is changed, and its files. after ms: from the edit until a")
        screen.say("request to each got the new answer. Here nothing waits for CONFIG_MIN_INTERVAL (2 s unless it is set).")
        if not self.stage.is_local:
            screen.say(f"The Data Plane API reloads after up to {RELOAD_DELAY_S * 1000:.0f} ms (its reload_delay; 5 s unless configured).")
        if failed:
            first = next(traffic.first_error for traffic in self.traffic.values() if traffic.failed)
            screen.bad(f"{failed} of {total} requests failed, the first: {first}")
        else:
            screen.good(f"{total} requests, 0 failed.")
        surprises = [step for step in self.steps if step.surprise]
        for step in surprises:
            screen.bad(f"{step.what}: {step.reloads} reloads")
        return not failed and not surprises

    def show_places(self) -> None:
        stage, screen = self.stage, self.screen
        screen.say("Edit a Service's annotations, and watch:")
        screen.say(f"  {os.environ.get('EDITOR', 'vi')} {stage.manifests.directory / 'blog-service.yaml'}")
        screen.say("What comes of them?")
        screen.say(f"  env $(cat {stage.settings_file()}) {stage.daemon.binary} services view")
