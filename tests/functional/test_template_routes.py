"""What the template set `ingress` is made of, used in a set of one's own."""

from __future__ import annotations

import json
import pathlib
import subprocess

from tests.harness.daemon import quick_program

from .ingress_set import Object, backend, endpoint, endpoint_slice, ingress, rule

TEMPLATE = """\
{% for one in ingresses|of_class(["ours", "mine"]) %}of {{ one.metadata.name }}
{% endfor %}
{% for one in ingresses|of_class(["ours"], true) %}also {{ one.metadata.name }}
{% endfor %}
{% for default in [false, true] %}
{% for one in ingresses %}
{% for route, name, other in claim_routes(one, ".x", one.spec.tls|default([]), default) %}
{{ one.metadata.name }} {{ route.host }}{{ route.path }} [{{ name }}] {{ other.metadata.name if other is not none else "-" }}
{% endfor %}
{% endfor %}
{% endfor %}
{% for line in collected("exact") %}exact {{ line }}
{% endfor %}
{% for line in collected("prefix") %}prefix {{ line }}
{% endfor %}
{% for port in ["http", "none"] %}<{{ slices|servers(port) }}>
{% endfor %}
"""


def of(one: Object, class_name: str | None = None, annotation: str | None = None) -> Object:
    if class_name:
        one["spec"]["ingressClassName"] = class_name
    if annotation:
        one["metadata"]["annotations"] = {"kubernetes.io/ingress.class": annotation}
    return one


def context() -> Object:
    slices = [endpoint_slice("web", endpoint("10.0.0.2"), endpoint("10.0.0.1"), endpoint("10.0.0.3", ready=False)),
              endpoint_slice("web", endpoint("10.0.0.1"), name="again")]
    return {"slices": slices, "ingresses": [
        of(ingress("a", rule("a.example.com", ("Prefix", "/", "web"), ("Exact", "/", "web"), ("Prefix", "/b", "api")),
                   tls=[{"hosts": ["a.example.com"]}]), "ours"),
        of(ingress("b", rule("a.example.com", ("Prefix", "/b/", "web"), ("Prefix", "/c", "web")), tls=[{"hosts": ["*.example.com", "b.test"]}]), None, "mine"),
        of(ingress("c", rule("b.example.com", ("Prefix", "/", "web")), defaultBackend=backend("rest"), tls=[{"secretName": "all"}]), "theirs", "ours"),
        ingress("d", rule("d.test", ("Prefix", "/", "web")), tls=[{"hosts": ["*.d.test"]}]),
        ingress("e", defaultBackend=backend("rest")), ingress("f", defaultBackend=backend("web"))]}


def ours(folder: pathlib.Path, objects: Object) -> str:
    folder.joinpath("set.yaml").write_text(json.dumps({"trim_blocks": True, "extra": objects}))
    folder.joinpath("haproxy.cfg.j2").write_text(TEMPLATE)
    done = subprocess.run([quick_program(), "template", "render", folder], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_claim_routes(tmp_path: pathlib.Path) -> None:
    lines = ours(tmp_path, context()).splitlines()
    assert lines[:6] == ["of a", "of b", "also a", "also d", "also e", "also f"]
    assert lines[6:13] == [
        "a a.example.com/ [default_web_80.x] -", "a a.example.com/b [default_api_80.x] -", "b a.example.com/b/ [] a",
        "c b.example.com/ [] c", "e */ [default_rest_80.x] -", "f */ [] e", "exact a.example.com/ default_web_80.x/https"]
    assert lines[13:] == [
        "prefix a.example.com/ default_web_80.x/https", "prefix a.example.com/b/ default_api_80.x/https", "prefix a.example.com/c/ default_web_80.x/https",
        "prefix b.example.com/ default_web_80.x/https", "prefix d.test/ default_web_80.x", "prefix */ default_rest_80.x",
        "<  server 10.0.0.1_8080 10.0.0.1:8080", "  server 10.0.0.2_8080 10.0.0.2:8080>", "<>"]


def test_what_is_wrong(tmp_path: pathlib.Path) -> None:
    """Is given with its rules, and neither claimed nor collected; a default backend that is wrong is not given twice."""
    wrong = ingress("a", rule("a.example.com", ("Prefix", "no path", "web")), defaultBackend={"resource": {}})
    assert ours(tmp_path, {"slices": [], "ingresses": [wrong]}).splitlines() == [
        "also a", "a a.example.comno path [] -", "a a.example.com/ [] -", "<>", "<>"]


def test_what_is_null_is_as_if_it_were_not_there(tmp_path: pathlib.Path) -> None:
    objects = [of(ingress(name, rule(f"{name}.test", ("Prefix", "/", "web"))), None, "ours" if name == "a" else None) for name in "abcd"]
    objects[0]["spec"]["ingressClassName"] = objects[1]["spec"]["ingressClassName"] = None
    of(objects[2], "ours")["metadata"]["annotations"] = None
    objects[3]["metadata"]["annotations"] = {"kubernetes.io/ingress.class": None}
    said = ours(tmp_path, {"slices": [], "ingresses": objects})
    assert said.splitlines()[:6] == ["of a", "of c", "also a", "also b", "also c", "also d"]
