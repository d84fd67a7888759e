"""CONFIG_SOURCE=template: a set in a folder, objects from Kubernetes, a HAProxy of this machine that runs what comes of both."""

from __future__ import annotations

import json
import pathlib
import re
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.harness import http
from tests.harness.certificates import self_signed
from tests.harness.daemon import Daemon, quick_program
from tests.harness.haproxy import HAProxy
from tests.harness.kube import KubeDouble
from tests.harness.process import wait_until

from .rig import program
from .test_local import TEMPLATE
from .test_sandbox import trace_of_filtered, traced
from .wrapped import root_only

SET = """\
watch:
  ingresses:
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    keep: [spec]
  settings:
    apiVersion: v1
    kind: ConfigMap
    namespaces: [here, there]
    labelSelector: kind=settings
"""

# What HAProxy answers by itself, so that a request says what was rendered: the hosts of Ingresses, then what ConfigMaps have as `say`.
SAYS = "{% for i in resources.ingresses %}{% for r in i.spec.rules %}{{ r.host }} {% endfor %}{% endfor %}{% for c in resources.settings %}{{ c.data.say }} {% endfor %}"


def ingress(name: str, host: str = "a.example", namespace: str = "here", **annotations: str) -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
            "spec": {"rules": [{"host": host}]}}


def setting(name: str, namespace: str, kind: str = "settings", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": {"kind": kind}}, "data": data}


class Site:
    """A HAProxy that runs, the Kubernetes double, and a set that has HAProxy say the hosts of Ingresses and what ConfigMaps say."""

    def __init__(self, home: pathlib.Path):
        self.home = home
        self.haproxy = HAProxy(home / "haproxy", TEMPLATE)
        self.first = self.haproxy.config.read_text()
        (home / "kube").mkdir()
        self.kube = KubeDouble(home / "kube")
        self.set = home / "set"
        self.set.mkdir()
        self.settings = {"CONFIG_SOURCE": "template", "TEMPLATE_FROM": f"file:{self.set}", "HAPROXY_CONFIG_FILE": str(self.haproxy.config),
                         "HAPROXY_MASTER_SOCKET": str(self.haproxy.master_socket), "HAPROXY_STATS_SOCKET": str(self.haproxy.socket),
                         "HAPROXY_BIN": self.haproxy.binary, "STATE_DIR": str(home / "state"), "CONFIG_MIN_INTERVAL": "0s", "LOG_LEVEL": "debug", "EMIT_EVENTS": "true"}

    def template(self, says: str = SAYS) -> str:
        return self.first.replace('"zero"', f'"{says}"')

    def write(self, name: str, text: str) -> None:
        """As an editor does: a new file in its place."""
        fresh = self.home / "fresh"
        fresh.write_text(text)
        (self.set / name).parent.mkdir(exist_ok=True)
        fresh.rename(self.set / name)

    def daemon(self, **more: str) -> Daemon:
        return Daemon(self.home / "daemon", {"KUBECONFIG": str(self.kube.kubeconfig(self.home / "kubeconfig")), **self.settings, **more}, program())

    def says(self) -> str:
        return http.request(f"http://127.0.0.1:{self.haproxy.port}", "GET", "/").text.strip()

    def await_says(self, words: str) -> None:
        wait_until(lambda: self.says() == words, 20, f"HAProxy says {words}")


def status(daemon: Daemon) -> Any:
    return json.loads(daemon.get("/status")[1])["templates"]


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.write("set.yaml", SET)
    made.write("haproxy.cfg.j2", made.template())
    with made.haproxy, made.kube:
        made.kube.put(ingress("one"), setting("s", "here", say="x"), setting("t", "there", say="y"),
                      setting("u", "elsewhere", say="never"), setting("v", "here", "other", say="never"))
        yield made


def test_what_is_rendered_runs_and_follows_its_objects(site: Site) -> None:
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        wait_until(daemon.ready, 20, "ready")
        assert "[+]watch configmaps in here: synced" in daemon.get("/readyz")[1]
        assert re.search(r'msg="synced with Kubernetes" resource=configmaps namespace=there ', daemon.log())
        site.kube.put(ingress("two", "b.example", "there"))
        site.await_says("a.example b.example x y")
        site.kube.put(ingress("two", "c.example", "there"), setting("t", "there", say="z"))
        site.await_says("a.example c.example x z")
        site.kube.delete(ingress("one"), setting("s", "here"))
        site.await_says("c.example z")
        lists = {(entry["path"], entry["query"].get("labelSelector")) for entry in site.kube.requests(verb="watch")}
        assert lists == {("/apis/networking.k8s.io/v1/ingresses", None), ("/api/v1/namespaces/here/configmaps", "kind=settings"),
                         ("/api/v1/namespaces/there/configmaps", "kind=settings")}


def test_the_set_is_followed_and_its_watches_stay_where_they_are_the_same(site: Site) -> None:
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        watches = len(site.kube.requests(verb="watch"))
        site.write("haproxy.cfg.j2", site.template("{{ snippets('greet*') | join }}" + '{% include "greeting" %}'))
        wait_until(lambda: "snippet" in daemon.log() or "greeting" in daemon.get("/readyz")[1], 20, "the snippet is missing")
        assert site.says() == "a.example x y"
        site.write("snippets/greeting.j2", "hello")
        site.await_says("greetinghello")
        assert len(site.kube.requests(verb="watch")) == watches
        site.write("set.yaml", SET.replace("[here, there]", "[there]"))
        site.write("haproxy.cfg.j2", site.template())
        site.await_says("a.example y")
        wait_until(daemon.ready, 20, "ready")
        assert not site.kube.open_watches("configmaps")[0]["path"].startswith("/api/v1/namespaces/here")


@pytest.mark.parametrize(("name", "text", "says"), [
    ("set.yaml", "watch:\n  a: {apiVersion: v1, kynd: Pod}\n", r"set\.yaml:2: watch\.a has no key kynd"),
    ("haproxy.cfg.j2", "global\n{% for i in resources.ingresses %}{{ i.spec.nothing.there }}{% endfor %}\n", r"haproxy\.cfg:2:\d+: .*the last object: Ingress here/one"),
], ids=["set", "undefined"])
def test_what_is_wrong_is_named_and_the_last_good_one_goes_on(site: Site, name: str, text: str, says: str) -> None:
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        wait_until(daemon.ready, 20, "ready")
        good_set, good = status(daemon)["set"]["sha256"], (site.set / name).read_text()
        site.write(name, text)
        found = wait_until(lambda: re.search(says, daemon.get("/readyz")[1]), 20, f"{says} in /readyz")
        assert found and re.search(rf'msg="configuration refused; the last good one stays" error=.*{says}', daemon.log()), daemon.tail()
        site.kube.put(ingress("two", "b.example"))
        site.await_says("a.example b.example x y")
        assert re.search(says, daemon.get("/readyz")[1])
        now = wait_until(lambda: (found := status(daemon))["set"]["last_good"] and found["problem"] and found, 20, "the error stands")
        assert now["set"]["last_good"] == good_set and (now["set"]["sha256"] == good_set) == (name == "set.yaml")
        assert daemon.metrics().value("template_render_ok") == 0
        site.write(name, good)
        wait_until(daemon.ready, 20, "ready")
        wait_until(lambda: (found := status(daemon))["problem"] is None and found["set"]["last_good"] is None, 20, "no error")
        assert daemon.metrics().value("template_render_ok") == 1


def hurried(daemon: Daemon, site: Site, words: str) -> None:
    """SIGHUP ends every wait for a retry."""
    def hurry() -> bool:
        assert daemon.process
        daemon.process.signal(signal.SIGHUP)
        return site.says() == words

    wait_until(hurry, 30, f"HAProxy says {words}", interval=0.3)


def test_what_is_not_served_is_named_and_the_others_go_on(site: Site) -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "here"}, "spec": {"say": "hello"}}
    more = "  widgets:\n    apiVersion: example.com/v1\n    kind: Widget\n  pods:\n    apiVersion: v1\n    kind: Pod\n"
    site.write("set.yaml", SET + more)
    site.write("haproxy.cfg.j2", site.template(SAYS + "{% for w in resources.widgets %}{{ w.spec.say }} {% endfor %}{% for p in resources.pods %}{{ p.metadata.name }} {% endfor %}"))
    site.kube.put({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "here"}})
    with site.daemon() as daemon:
        site.await_says("a.example x y p")
        wait_until(daemon.ready, 20, "ready")
        checks = daemon.get("/readyz")[1]
        assert re.search(r"watch example\.com/v1 Widget: cannot be watched, continuing without it: .*404", checks), checks
        site.kube.serve("example.com", "v1", "widgets", "Widget")
        site.kube.put(widget)
        hurried(daemon, site, "a.example x y hello p")
        site.kube.cease("example.com", "v1", "widgets", "Widget")
        site.await_says("a.example x y p")
        site.kube.disconnect("widgets", "watch")  # as the API server ends it then
        wait_until(lambda: status(daemon)["watches"][2]["state"] == "not served" and daemon.ready(), 30, "the definition is missed, and named")
        assert re.search(r"watch widgets: may not be read, its last state stays in use: .*404", daemon.get("/readyz")[1])
        site.kube.put(ingress("two", "b.example"))
        site.await_says("a.example b.example x y p")
        site.kube.serve("example.com", "v1", "widgets", "Widget")
        site.kube.put(widget)
        hurried(daemon, site, "a.example b.example x y hello p")
        wait_until(lambda: status(daemon)["watches"][2]["state"] == "synced", 20, "it is back")


def test_a_resource_that_may_not_be_watched_is_waited_for(site: Site) -> None:
    """At the start nothing changes, as it may be an API server that starts: it refuses all until it has read its roles. Later what was
    known last stays."""
    site.kube.forbid("ingresses")
    with site.daemon() as daemon:
        daemon.wait_not_ready("watch ingresses: not synced: .*403")
        wait_until(lambda: len(site.kube.requests("ingresses")) > 2, 20, "it is asked for again")
        assert not renders(daemon) and site.says() == "zero" and status(daemon)["watches"][0]["state"] == "refused"
        site.kube.forbid()
        site.await_says("a.example x y")
        wait_until(daemon.ready, 20, "ready")
        site.kube.forbid("ingresses")
        site.kube.disconnect("ingresses")
        daemon.wait_not_ready("watch ingresses: stale, the last good state is in use: .*403")
        site.kube.put(setting("s", "here", say="z"))
        site.await_says("a.example z y")
        text = site.template(SAYS + "{% for p in resources.pods %}{{ p.metadata.name }} {% endfor %}again")
        site.kube.forbid("ingresses", "pods")
        site.write("set.yaml", SET + "  pods:\n    apiVersion: v1\n    kind: Pod\n")
        site.write("haproxy.cfg.j2", text)
        daemon.wait_not_ready("watch pods: not synced: .*403")
        site.kube.put(setting("s", "here", say="x"))
        site.await_says("a.example x y")  # by the last good set
        site.kube.forbid()
        hurried(daemon, site, "a.example x y again")


def test_what_one_namespace_may_take_is_its_own_matter(site: Site) -> None:
    site.write("set.yaml", SET.replace("    keep: [spec]\n", "    keep: [spec]\n    namespace_bytes: 800\n"))
    site.kube.put(*(ingress(f"t{i}", f"t{i}.example", "there") for i in range(5)))
    with site.daemon() as daemon:
        site.await_says("a.example t0.example t1.example t2.example x y")
        wait_until(daemon.ready, 20, "ready")
        left_out = [(r["kind"], r["namespace"], r["name"], r["left_out"]) for r in status(daemon)["remark_list"]]
        assert left_out == [("Ingress", "there", "t3", True), ("Ingress", "there", "t4", True)], left_out
        wait_until(lambda: [o for o in site.kube.state()["items"] if o["kind"] == "Event" and "800 bytes that those of one namespace may" in o["message"]], 20, "an Event")
        site.kube.delete(ingress("t1", "t1.example", "there"))
        site.await_says("a.example t0.example t2.example t3.example x y")


def test_a_set_in_a_config_map(site: Site) -> None:
    def keys(text: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "templates", "namespace": "lb"},
                "data": {"set.yaml": SET, "haproxy.cfg.j2": text, "maps_hosts.map.j2": "a.example yes\n"}}

    site.kube.put(keys(site.template(SAYS + "{{ path('map', 'hosts.map') }}")))
    with site.daemon(TEMPLATE_FROM="configmap:lb/templates") as daemon:
        site.await_says(f"a.example x y {site.haproxy.dir}/maps/hosts.map")
        assert (site.haproxy.dir / "maps/hosts.map").read_text() == "a.example yes\n"
        site.kube.put(keys(site.template("{{ nothing }}")))
        wait_until(lambda: "ConfigMap lb/templates: haproxy.cfg:" in daemon.get("/readyz")[1], 20, "the error is named")
        site.kube.put(keys(site.template("better")))
        site.await_says("better")
        site.kube.delete(keys(""))
        wait_until(lambda: "ConfigMap lb/templates does not exist" in daemon.get("/readyz")[1], 20, "it is missed")
        assert site.says() == "better"


def renders(daemon: Daemon) -> list[bool]:
    """Whether each gave something else."""
    return [found == "true" for found in re.findall(r'msg="templates rendered" .*changed=(true|false)', daemon.log())]


def test_many_changes_are_few_renders_and_the_same_output_is_nothing(site: Site) -> None:
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        before, begin = len(renders(daemon)), time.monotonic()
        for i in range(50):
            site.kube.put(ingress("two", f"{i}.example"))
        site.await_says("a.example 49.example x y")
        assert len(renders(daemon)) - before <= 2 + (time.monotonic() - begin) / 0.1, "one in 100 ms, and the first at once"
        wait_until(daemon.ready, 20, "ready")
        worker, before, changed = site.haproxy.worker(), len(renders(daemon)), daemon.log().count('msg="configuration changed"')
        site.kube.put(ingress("two", "49.example", note="nothing that is kept"))
        site.kube.put(setting("s", "here", say="x", more="what no template says"))
        wait_until(lambda: renders(daemon)[before:] == [False], 20, "one render, with the same output")
        site.kube.put(ingress("two", "50.example"))
        site.await_says("a.example 50.example x y")
        assert daemon.log().count('msg="configuration changed"') == changed + 1 and site.haproxy.worker() != worker


@root_only
@traced
def test_no_call_is_refused_on_the_way(site: Site) -> None:
    """Renders are copies of the daemon under a filter of their own."""
    trace = site.home / "trace"
    frame = site.home / "frame"
    frame.write_text(f"#!/bin/sh\nexec strace -f -D -q -o {trace} {quick_program()}\n")
    frame.chmod(0o755)
    daemon = Daemon(site.home / "daemon", {"KUBECONFIG": str(site.kube.kubeconfig(site.home / "kubeconfig")), **site.settings,
                                           "SECCOMP": "true", "TEMPLATE_TIMEOUT": "1s"}, frame)
    with daemon:
        site.await_says("a.example x y")
        site.kube.put(ingress("two", "b.example"))
        site.await_says("a.example b.example x y")
        site.write("haproxy.cfg.j2", "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}")
        wait_until(lambda: "TEMPLATE_TIMEOUT is the limit" in daemon.get("/readyz")[1], 30, "a render that is killed")
        site.write("haproxy.cfg.j2", site.template("done"))
        site.await_says("done")
        daemon.wait_ready()
        daemon.stop()
    # The daemon's, the helpers', and that of each render.
    after = trace_of_filtered(trace, 3 + 3, more=True)
    assert re.search(r"clone\(child_stack=NULL, flags=CLONE_CHILD_CLEARTID\|CLONE_CHILD_SETTID\|SIGCHLD", after)


def test_what_templates_say_of_objects_is_an_event_once(site: Site) -> None:
    says = ("{% for i in resources.ingresses %}{% for r in i.spec.rules %}{% if r.host == 'bad' %}{{ warn(i, 'no such host') }}{% endif %}"
            "{% if r.host == 'odd' %}{{ event(i, 'an odd host') }}{% endif %}{{ r.host }} {% endfor %}{% endfor %}")
    site.write("haproxy.cfg.j2", site.template(says))
    site.kube.put(ingress("bad", "bad"), ingress("odd", "odd", "there"))

    def events() -> list[tuple[str, ...]]:
        made = [item for item in site.kube.state()["items"] if item["kind"] == "Event"]
        uids = {item["metadata"]["uid"] for item in site.kube.state()["items"] if item["kind"] == "Ingress"}
        assert all(item["involvedObject"]["apiVersion"] == "networking.k8s.io/v1" and item["involvedObject"]["uid"] in uids for item in made)
        return sorted((item["type"], item["reason"], item["metadata"]["namespace"], item["involvedObject"]["name"], item["message"], str(item["count"])) for item in made)

    both = [("Warning", "LeftOut", "here", "bad", "no such host", "1"), ("Warning", "TemplateNote", "there", "odd", "an odd host", "1")]
    with site.daemon() as daemon:
        site.await_says("a.example odd")
        wait_until(lambda: events() == both, 20, f"{both}")
        site.kube.put(ingress("two", "b.example"))
        site.await_says("a.example b.example odd")
        site.kube.put(ingress("bad", "better"))
        site.await_says("better a.example b.example odd")
        site.kube.put(ingress("bad", "bad"))
        site.await_says("a.example b.example odd")
        again = [(*both[0][:-1], "2"), both[1]]
        wait_until(lambda: events() == again, 20, f"{again}")
        assert daemon.log().count("templates leave an object out") == 2


def test_an_error_is_an_event_on_the_config_map(site: Site) -> None:
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "templates", "namespace": "lb"}, "data": {"set.yaml": SET, "haproxy.cfg.j2": "{{ nothing }}"}}
    site.kube.put(tree)
    with site.daemon(TEMPLATE_FROM="configmap:lb/templates"):
        found = wait_until(lambda: [item for item in site.kube.state()["items"] if item["kind"] == "Event"], 20, "an Event")
        assert found[0]["reason"] == "ConfigRejected" and found[0]["involvedObject"]["kind"] == "ConfigMap"
        assert "haproxy.cfg:1:" in found[0]["message"] and found[0]["involvedObject"]["uid"]


def test_status_and_metrics_say_what_is_seen_and_how_the_last_render_went(site: Site) -> None:
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        wait_until(daemon.ready, 20, "ready")
        seen = status(daemon)
        assert seen["from"] == str(site.set) and seen["problem"] is None and seen["rendered_at"] and seen["took_us"] > 0
        assert seen["set"]["templates"] == 1 and seen["set"]["bytes"] == len(SET) + len(site.template()) and len(seen["set"]["sha256"]) == 64
        lines = len(site.haproxy.config.read_text().splitlines())
        assert seen["change"] | {"at": None} == {"at": None, "first": True, "added": lines, "removed": 0, "file_count": 1, "files": [
            {"kind": "haproxy.cfg", "name": "haproxy.cfg", "change": "new", "added": lines, "removed": 0}]}
        ingresses, settings = seen["watches"]
        assert (ingresses["name"], ingresses["resource"], ingresses["state"], ingresses["objects"]) == ("ingresses", "networking.k8s.io/v1 Ingress", "synced", 1)
        assert (settings["name"], settings["objects"]) == ("settings", 2)
        kept = ingresses["bytes"]
        site.kube.put(ingress("one", note="x" * 5000))  # dropped as it comes in
        site.kube.put(ingress("two", "b.example"))
        site.await_says("a.example b.example x y")
        bytes_now = wait_until(lambda: (now := status(daemon)["watches"][0])["objects"] == 2 and now["bytes"], 20, "two objects")
        assert kept < bytes_now < 3 * kept
        change = status(daemon)["change"]
        assert not change["first"] and (change["added"], change["removed"], change["file_count"]) == (1, 1, 1)
        metrics = daemon.metrics()
        assert metrics.value("template_objects", resource="ingresses") == 2 and metrics.value("template_objects", resource="settings") == 2
        assert metrics.value("template_object_bytes", resource="ingresses") == bytes_now
        assert metrics.value("template_resource_synced", resource="settings") == 1 and metrics.value("template_render_ok") == 1
        assert metrics.value("template_last_render_timestamp_seconds") > 1e9
        assert metrics.value("template_renders_total", result="changed") >= 2 and metrics.sum("template_render_seconds_count") >= 2
        site.write("haproxy.cfg.j2", "{{ nothing }}")
        problem = wait_until(lambda: status(daemon)["problem"], 20, "a problem")
        assert "haproxy.cfg:1:" in problem and daemon.metrics().value("template_renders_total", result="failed") == 1
        assert status(daemon)["failure"]["text"] == problem and daemon.metrics().value("template_render_ok") == 0
        site.write("haproxy.cfg.j2", site.template())  # as before: nothing is another one
        wait_until(lambda: status(daemon)["problem"] is None, 20, "it is corrected")
        assert status(daemon)["change"] == change and status(daemon)["failure"]["text"] == problem and daemon.metrics().value("template_render_ok") == 1


def test_status_names_changed_files_and_objects_left_out_but_not_what_is_in_certificates(site: Site) -> None:
    site.write("maps/hosts.map.j2", "{% for i in resources.ingresses %}{{ i.metadata.name }} be\n{% endfor %}")
    site.write("haproxy.cfg.j2", site.template(SAYS + "{% for c in resources.settings %}{% if 'bad' in c.data %}{{ warn(c, 'bad: ' ~ c.data.bad) }}{% endif %}{% endfor %}"))
    with site.daemon() as daemon:
        site.await_says("a.example x y")
        site.kube.put(setting("t", "there", say="y", bad="<b>"), ingress("two"))
        seen = wait_until(lambda: (now := status(daemon))["remarks"] == 1 and now["watches"][0]["objects"] == 2 and now["files"] == 1 and now, 20, "an object that is left out")
        assert seen["remark_list"] == [{"resource": "settings", "kind": "ConfigMap", "namespace": "there", "name": "t", "left_out": True, "as_before": False, "text": "bad: <b>"}]
        assert [w["left_out"] for w in seen["watches"]] == [0, 1]
        assert daemon.metrics().value("template_objects_left_out", resource="settings") == 1
        pair = self_signed(site.home, "k")
        site.write("certificates/k.pem.j2", pair.certificate.read_text() + pair.key.read_text())
        change = wait_until(lambda: (now := status(daemon)["change"])["files"][0]["kind"] == "certificate" and now, 20, "a certificate")
        assert change["files"] == [{"kind": "certificate", "name": "k.pem", "change": "new", "added": None, "removed": None}] and change["added"] == 0
        site.kube.put(ingress("three"))
        change = wait_until(lambda: (now := status(daemon)["change"])["file_count"] == 2 and now, 20, "a host more")
        assert "reload without a change" not in daemon.get("/status")[1] and "reload of the configuration that was written" in daemon.log()
        assert change["files"][1] == {"kind": "map", "name": "hosts.map", "change": "changed", "added": 1, "removed": 0}
        assert "PRIVATE" not in daemon.get("/status")[1]
