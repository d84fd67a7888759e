"""What happens in the demo of annotated Services, on both load balancers, and which way each change went."""

from __future__ import annotations

import os
from collections.abc import Callable

from .screen import Screen
from .services import CLUSTER, NAMESPACE, LoadBalancer, ServicesBalancer
from .show import Show, ask, events
from .traffic import Traffic

HOST, BLOG, NEWS = f"{CLUSTER}-shop.example", "blog.example", "news.example"


class ServicesStory(Show):
    def __init__(self, stage: ServicesBalancer, screen: Screen):
        self.stage = stage
        super().__init__(stage, screen, *(Traffic(one.port, HOST) for one in stage.both), daemons=tuple(one.daemon for one in stage.both))

    def play(self) -> None:
        stage, screen = self.stage, self.screen
        screen.heading("1. The daemons start: no Service has the label, so nothing is written")
        for one in stage.both:
            one.daemon.start()
        for one in stage.both:
            one.daemon.wait_not_ready("no Service has the label ")
        screen.say(stage.daemon.get("/readyz")[1].split("configuration source: ")[-1].splitlines()[0])
        screen.heading(f"2. The Service shop is annotated: CLUSTER-shop.example, which is {HOST} here")
        self.change("a Service is annotated", "reload", "shop", {"hostname": "CLUSTER-shop.example"},
                    lambda one: self.answer(one, HOST).startswith("200 node-"))
        screen.quote((stage.manifests.directory / "shop-service.yaml").read_text())
        self.show(HOST)
        screen.say("from here on a client asks both for it all the time: no request may fail")
        self.ask_all_the_time()
        screen.heading("3. Another Service")
        self.change("another Service", "reload", "blog", {"hostname": BLOG}, lambda one: self.answer(one, BLOG).startswith("200 blog on "))
        self.show(BLOG)
        by_api = not stage.is_local
        screen.heading("4. It has another host name, and a path: lines of maps" + (", small ones, which the API would append" if by_api else ", no reload"))
        self.change("another host name, a path", "reload" if by_api else "runtime", "blog", {"hostname": NEWS, "path": "/today"},
                    lambda one: self.answer(one, NEWS, "/today/1").startswith("200 blog on ") and self.answer(one, BLOG).startswith("503"))
        self.show(NEWS, "/today/1")
        self.show(BLOG)
        screen.heading("5. A typing error: that port is not served, its Service has an Event, all else goes on")
        self.change("a typing error", "reload", "blog", {"hostname": NEWS, "path": "today"},
                    lambda one: self.answer(one, NEWS, "/today/1").startswith("503") and bool(self._complaints()))
        self.show(NEWS, "/today/1")
        for text in self._complaints():
            screen.say(f"Event: {text}")
        screen.say("So does: haproxy-k8s-sync services explain shop/blog")
        screen.quote(stage.ask_daemon("services", "explain", "shop/blog"))
        screen.heading("6. It is repaired")
        self.change("repaired", "reload", "blog", {"hostname": NEWS, "path": "/today"},
                    lambda one: self.answer(one, NEWS, "/today/1").startswith("200 blog on "))
        self.show(NEWS, "/today/1")

    def change(self, what: str, way: str, name: str, options: dict[str, str], happened: Callable[[LoadBalancer], bool]) -> None:
        self.step(what, way, lambda: f"applied: {self.stage.annotate(name, options)}", lambda: all(happened(one) for one in self.stage.both))

    def answer(self, one: LoadBalancer, host: str, path: str = "/") -> str:
        return ask(one.port, host, path)

    def show(self, host: str, path: str = "/") -> None:
        for one in self.stage.both:
            self.screen.say(f"{one.name}: curl -H 'Host: {host}' http://127.0.0.1:{one.port}{path} -> {self.answer(one, host, path)}")

    def _complaints(self) -> list[str]:
        return [text for text in events(self.stage.kube.url, NAMESPACE) if "service/blog" in text]

    def show_places(self) -> None:
        stage, screen = self.stage, self.screen
        screen.say("Edit a Service's annotations, and watch:")
        screen.say(f"  {os.environ.get('EDITOR', 'vi')} {stage.manifests.directory / 'blog-service.yaml'}")
        screen.say("What comes of them?")
        screen.say(f"  env $(cat {stage.settings_file()}) {stage.daemon.binary} services view")
