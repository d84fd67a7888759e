"""Traces: a change of a template, a file, from what caused it until HAProxy runs it, at a collector; and collectors that are none."""

from __future__ import annotations

import pathlib
import ssl
from collections.abc import Callable, Iterator

import pytest

from tests.doubles import otlp
from tests.doubles.otlp import Collector, Trace
from tests.harness.daemon import quick_program
from tests.harness.certificates import Authority
from tests.harness.process import free_port, wait_until

from . import test_template_source_apis as apis
from .rig import Rig
from .test_template_source import SET, Site, ingress, setting


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.write("set.yaml", SET)
    made.write("haproxy.cfg.j2", made.template())
    with made.haproxy, made.kube:
        made.kube.put(ingress("one"), setting("s", "here", say="x"), setting("t", "there", say="y"))
        yield made


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector(free_port()) as made:
        yield made


def await_traces(collector: Collector, which: Callable[[Trace], bool], what: str, count: int = 1) -> list[Trace]:
    def there() -> list[Trace]:
        found = [t for t in collector.traces() if which(t)]
        return found if len(found) >= count else []

    return wait_until(there, 20, f"{what}; there are {[(t.result(), t.names()) for t in collector.traces()]}")


def caused_by(words: str) -> Callable[[Trace], bool]:
    return lambda t: words in str(t.root.attributes["change.cause"])


def test_a_change_is_one_whole_tree_from_its_event_to_what_runs(site: Site, collector: Collector) -> None:
    with site.daemon(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url + "/", OTEL_RESOURCE_ATTRIBUTES="k8s.cluster.name=ed%20ge,service.name=edge",
                     OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20hunter2, x-more=1") as daemon:
        site.await_says("a.example x y")
        first = await_traces(collector, lambda t: t.result() == "applied", "the first change")[0]
        assert first.names() == ["render", "validate", "apply", "reload", "verify"]
        site.kube.put(ingress("two", "b.example", "there"))
        site.await_says("a.example b.example x y")
        second = await_traces(collector, caused_by("two"), "that of the second Ingress")[0]
        assert second.names() == ["render", "validate", "apply", "reload", "verify"] and second.result() == "applied"
        assert "there/two" in second.root.attributes["change.cause"] and second.root.attributes["change.source"] == str(site.set)
        render, apply = second.named("render")[0], second.named("apply")[0]
        assert render.attributes == {"render.templates": 1, "render.objects": 4, "render.changed": True}
        assert apply.attributes == {"target.url": str(site.haproxy.config), "apply.way": "reload"}
        assert second.root.attributes["change.sha256"] in daemon.log() and all(s.error is None for s in second.spans)
        ends = [s.end for s in second.spans[1:]]
        assert ends == sorted(ends) and second.root.begin < render.begin
        site.kube.put(setting("s", "here", say="x", more="what no template says"))
        same = await_traces(collector, lambda t: t.result() == "unchanged", "a render with the same output")[0]
        assert same.names() == ["render"] and same.named("render")[0].attributes["render.changed"] is False
        # It counts by the collector's answers, the last of which may be on its way.
        wait_until(lambda: daemon.metrics().value("trace_spans_total", result="exported") == len(collector.spans), 10, "all spans are counted")
        shown = daemon.log() + daemon.get("/status")[1]
        assert "hunter2" not in shown
    assert set(collector.paths) == {"/v1/traces"}
    assert all((h["authorization"], h["x-more"]) == ("Bearer hunter2", "1") for h in collector.headers), collector.headers
    for resource in collector.resources:
        assert resource["service.name"] == "edge" and resource["k8s.cluster.name"] == "ed ge" and resource["service.version"]


def test_what_fails_has_its_reason(site: Site, collector: Collector) -> None:
    with site.daemon(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url + "/below/it"):
        site.await_says("a.example x y")
        site.write("haproxy.cfg.j2", site.template() + "\nlisten nonsense\n  bind nowhere at all\n")
        rejected = await_traces(collector, lambda t: t.result() == "rejected", "a configuration that HAProxy refuses")[0]
        assert rejected.names() == ["render", "validate"] and "nowhere" in str(rejected.named("validate")[0].error)
        assert rejected.root.error == rejected.named("validate")[0].error
        site.write("haproxy.cfg.j2", "global\n{% for i in resources.ingresses %}{{ i.spec.nothing.there }}{% endfor %}\n")
        refused = await_traces(collector, lambda t: t.result() == "refused", "a template that fails")[0]
        assert refused.names() == ["render"] and "haproxy.cfg:2" in str(refused.named("render")[0].error)
        assert caused_by(str(site.set))(refused)
    assert set(collector.paths) == {"/below/it/v1/traces"}


def test_a_file_and_the_end_by_https(site: Site) -> None:
    """Without a render; what is under way at the end is sent before it. The system call filter is on, a header comes from a file."""
    authority = Authority(site.home / "ca")
    own = authority.server("collector")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(own.certificate, own.key)
    secret = site.home / "headers"
    secret.write_text("authorization=Bearer%20hunter2\n")
    by = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(authority.certificate), "OTEL_EXPORTER_OTLP_HEADERS_FILE": str(secret), "SECCOMP": "true"}
    with Collector(free_port(), tls) as collector:
        file_and_end(site, collector, **by)
        assert all(h["authorization"] == "Bearer hunter2" for h in collector.headers)


def file_and_end(site: Site, collector: Collector, **by: str) -> None:
    config = site.home / "own.cfg"
    config.write_text(site.first.replace('"zero"', '"one"'))
    daemon = site.daemon(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, CONFIG_SOURCE="file", CONFIG_FILE=str(config), TEMPLATE_FROM="", **by)
    daemon.binary = quick_program()  # the filter allows for no sanitizer
    with daemon:
        site.await_says("one")
        wait_until(daemon.ready, 20, "ready")
        assert daemon.stop() < 4
        daemon.start()
        fresh = site.home / "fresh.cfg"
        fresh.write_text(site.first.replace('"zero"', '"two"'))
        fresh.rename(config)
        site.await_says("two")
        daemon.wait_ready()
        daemon.stop()
    traces = collector.traces()
    assert traces[0].names() == ["validate", "apply", "reload", "verify"] and caused_by("own.cfg")(traces[0])
    assert [t.result() for t in traces if "apply" in t.names()] == ["applied", "applied"]
    assert {s.trace for s in collector.spans} == {t.root.trace for t in traces}, "no trace without its root"


def test_a_dead_collector_costs_nothing_but_its_traces(site: Site) -> None:
    with site.daemon(OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}") as daemon:
        site.await_says("a.example x y")
        wait_until(lambda: 'msg="traces not exported"' in daemon.log(), 20, "that is said")
        site.kube.put(ingress("two", "b.example"))
        site.await_says("a.example b.example x y")
        wait_until(daemon.ready, 20, "ready")
        assert daemon.log().count('msg="traces not exported"') == 1
        assert daemon.stop() < 4


def test_a_hostile_collector_costs_nothing_but_its_traces_until_it_is_a_collector(site: Site, collector: Collector) -> None:
    with Collector(free_port()) as elsewhere:
        answers: list[otlp.Answer] = [lambda handler: otlp.reply(handler, 400, b"no"), otlp.redirect(elsewhere.url), otlp.vast(collector),
                                      otlp.slow(collector), otlp.silent(collector)]
        with site.daemon(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url) as daemon:
            for i, answer in enumerate(answers):
                collector.answer = answer
                asked = collector.asked
                site.kube.put(ingress("two", f"{i}.example"))
                site.await_says(f"a.example {i}.example x y")
                wait_until(lambda: collector.asked > asked, 20, "it was asked")
                if i < 3:  # the others are asked again
                    wait_until(lambda: daemon.metrics().value("trace_spans_total", result="failed") >= 6 * (i + 1), 20, f"answer {i} costs its batch")
            wait_until(daemon.ready, 20, "ready")
            assert collector.spans == []
            collector.answer = lambda handler: otlp.reply(handler, 503, b"", Retry_After="1")
            asked = collector.asked
            wait_until(lambda: collector.asked > asked, 20, "it was asked again")
            collector.answer = None
            again = await_traces(collector, caused_by("two"), "what it had not answered", 2)
            assert all(t.names() == ["render", "validate", "apply", "reload", "verify"] and t.result() == "applied" for t in again)
            collector.answer = otlp.silent(collector)
            asked = collector.asked
            site.kube.put(ingress("two", "last.example"))
            wait_until(lambda: collector.asked > asked, 20, "it was asked")
            assert daemon.stop() < 4
        assert elsewhere.asked == 0 and collector.problems == []


def test_a_change_of_servers(rig: Rig, collector: Collector) -> None:
    rig.pods(1)
    daemon = rig.start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    rig.wait_in_sync()
    rig.pods(1, 2)
    added = await_traces(collector, lambda t: "transaction" in t.names(), "a server is added")[-1]
    assert added.names() == ["transaction", "verify"] and added.result() == "in_sync" and added.root.name == "servers change"
    assert added.root.attributes["change.backend"] == "be" and "endpointslice web-1" in added.root.attributes["change.cause"]
    assert "n2" in added.named("transaction")[0].attributes["write.changes"]
    rig.pods(2)
    await_traces(collector, lambda t: "runtime command" in t.names() and t.result() == "in_sync", "one is taken out")
    rig.dataplane.fault({"action": "answer", "status": 400, "body": {"code": 400, "message": "no more servers"}, "method": "PUT", "path": r"/transactions/[^?]+$"})
    rig.pods(2, 3)
    refused = await_traces(collector, lambda t: t.result() == "rejected", "one that is refused")[0]
    assert "no more servers" in str(refused.root.error)
    daemon.stop()
    traces = collector.traces()
    assert {s.trace for s in collector.spans} == {t.root.trace for t in traces}, "no trace without its root"


def test_what_goes_by_the_runtime_api_needs_no_reload(rig: Rig, collector: Collector) -> None:
    site = apis.Site(rig)
    rig.kube.put(ingress("one"), site.config_map(apis.USE, apis.MANY))
    site.start(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    await_traces(collector, lambda t: t.names() == ["render", "validate", "apply", "reload", "verify"] and t.result() == "applied", "the first change")
    rig.kube.put(ingress("two", "b.example"))
    grown = await_traces(collector, caused_by("here/two"), "a map that grows")[0]
    assert grown.names() == ["render", "apply", "verify"] and grown.result() == "applied"
    assert grown.named("apply")[0].attributes == {"target.url": rig.dataplane.url, "apply.way": "runtime"}
