"""The shipped template set `ingress` rendered by Jinja2 in Python, file by file as it is, with what templates are offered made of Python.

    python3 -m tests.bench.jinja_ingress FIXTURES OUT RUNS      one line of JSON: ms of each run, RSS in KiB; haproxy.cfg is in OUT
"""

from __future__ import annotations

import collections
import ipaddress
import json
import pathlib
import re
import resource
import sys
import time
from typing import Any

import jinja2
import yaml

from tests.harness.process import ROOT

SET = ROOT / "templates" / "ingress"
Object = dict[str, Any]


class Resource(list[Object]):
    """What a watch has, in the order of the daemon's, and where it is found by namespace and name."""

    def __init__(self, objects: list[Object], name: str):
        super().__init__(sorted(objects, key=lambda one: f"{one['metadata'].get('namespace', '')}/{one['metadata']['name']}"))
        self._found: dict[tuple[str, str], list[Object]] = collections.defaultdict(list)
        for one in self:
            meta = one["metadata"]
            key = meta.get("labels", {}).get("kubernetes.io/service-name") if name == "slices" else meta["name"]
            self._found[meta.get("namespace", ""), key or ""].append(one)

    def Fetch(self, namespace: str, name: str) -> list[Object]:  # pylint: disable=invalid-name
        return self._found.get((namespace, name), [])

    def GetSingle(self, namespace: str, name: str) -> Object | None:  # pylint: disable=invalid-name
        return next(iter(self.Fetch(namespace, name)), None)


def _sanitize(text: object) -> str:
    return re.sub(r"[^A-Za-z0-9_.:-]", "_", str(text))


def routes(ingress: Object) -> list[Object]:
    """Without what is wrong in an Ingress: here is none of it."""
    spec, namespace, found, hosts = ingress["spec"], ingress["metadata"].get("namespace", "default"), [], []

    def add(host: str, path: str, exact: bool, default: bool, backend: Object) -> None:
        service = backend["service"]
        port = str(service["port"].get("name") or service["port"]["number"])
        found.append({"host": host, "path": path, "kind": "exact" if exact else "prefix", "default": default, "namespace": namespace,
                      "key": host + path + ("" if exact or path.endswith("/") else "/"), "service": service["name"], "port": port, "wrong": "",
                      "backend": _sanitize(f"{namespace}_{service['name']}_{port}")})

    for rule in spec.get("rules", []):
        hosts.append(rule.get("host") or "*")
        for one in rule.get("http", {}).get("paths", []):
            add(hosts[-1], one.get("path") or "/", one["pathType"] == "Exact", False, one["backend"])
    if "defaultBackend" in spec:
        for host in hosts or ["*"]:
            add(host, "/", False, True, spec["defaultBackend"])
    return found


class Endpoint(tuple[int, int, str]):
    """(address as a number, port, address)."""

    def __str__(self) -> str:
        return f"{self[2]}_{self[1]} {self[2]}:{self[1]}"


def endpoints(slices: list[Object], port_name: str) -> list[Endpoint]:
    ready, serving = set(), set()
    for one in slices:
        for port in one["ports"]:
            if port.get("name", "") != port_name:
                continue
            for endpoint in one["endpoints"]:
                address, conditions = endpoint["addresses"][0], endpoint.get("conditions", {})
                made = Endpoint((int(ipaddress.ip_address(address)), port["port"], address))
                if conditions.get("ready", True):
                    ready.add(made)
                elif conditions.get("serving", True):
                    serving.add(made)
    return sorted(ready or serving)


def of_class(ingresses: list[Object], classes: list[str], without: bool = False) -> list[Object]:
    def is_ours(ingress: Object) -> bool:
        name = ingress.get("spec", {}).get("ingressClassName")
        if name is None:
            name = (ingress["metadata"].get("annotations") or {}).get("kubernetes.io/ingress.class")
        return without if name is None else name in classes

    return [one for one in ingresses if is_ours(one)]


def servers(slices: list[Object], port: str) -> str:
    return "\n".join(f"  server {one}" for one in endpoints(slices, port))


def port_name(service: Object, port: str) -> str | None:
    return next((one.get("name", "") for one in service["spec"]["ports"] if port in (one.get("name", ""), str(one["port"]))), None)


def _sort_by(objects: list[Object], path: str) -> list[Object]:
    steps = path.split(".")

    def key(one: Any) -> Any:
        for step in steps:
            one = one.get(step, "")
        return one

    return sorted(objects, key=key)


class Said:
    """What templates say besides their text, in one render."""

    def __init__(self) -> None:
        self.claims: dict[str, dict[str, Any]] = collections.defaultdict(dict)
        self.lists: dict[str, list[Any]] = collections.defaultdict(list)
        self.files: dict[str, str] = {}

    def claim(self, of: str, key: str, value: Any) -> Any:
        if key in self.claims[of]:
            return self.claims[of][key]
        self.claims[of][key] = value
        return None

    def collect(self, of: str, value: Any) -> str:
        self.lists[of].append(value)
        return ""

    def claim_routes(self, ingress: Object, suffix: str, tls: list[Object], default: bool = False) -> list[tuple[Object, str, Any]]:
        """Without what is wrong, as `routes`."""
        more = []
        for route in routes(ingress):
            if route["default"] != default:
                continue
            other = self.claim(route["kind"], route["key"], ingress)
            if other is not None:
                more.append((route, "", other))
                continue
            name, wildcard = route["backend"] + suffix, re.sub("^[^.]*", "*", route["host"])
            https = any(not one.get("hosts") or route["host"] in one["hosts"] or wildcard in one["hosts"] for one in tls)
            self.collect(route["kind"], f"{route['key']} {name}{'/https' if https else ''}")
            if self.claim("backend", name, True) is None:
                more.append((route, name, None))
        return more

    def file(self, kind: str, name: str, text: str) -> str:
        self.files[f"{kind}:{name}"] = text
        folder = {"map": "maps", "certificate": "ssl", "file": "general"}[kind]
        return f"/etc/haproxy/{folder}/{name}"


def environment() -> jinja2.Environment:
    env = jinja2.Environment(loader=jinja2.FunctionLoader(lambda name: (SET / "snippets" / f"{name}.j2").read_text()), trim_blocks=True,
                             lstrip_blocks=True, undefined=jinja2.StrictUndefined, auto_reload=False)
    env.filters |= {"routes": routes, "of_class": of_class, "endpoints": endpoints, "servers": servers, "port_name": port_name, "sort_by": _sort_by, "sanitize": _sanitize,
                    "slots": NotImplemented, "b64decode": NotImplemented,
                    "regex_search": lambda text, pattern: (found[1] if found.re.groups else found[0]) if (found := re.search(pattern, text)) else None,
                    "regex_replace": lambda text, pattern, by: re.sub(pattern, by, text)}
    env.tests |= {"host": lambda text: isinstance(text, str), "base64": lambda text: isinstance(text, str)}
    return env


def render(env: jinja2.Environment, source: jinja2.Template, fixtures: dict[str, list[Object]], extra: Object) -> tuple[str, dict[str, str]]:
    """From objects as json.loads gives them: they have to be put under their keys, as elsewhere."""
    names = ("classes", "ingresses", "services", "slices", "secrets")
    said = Said()
    env.globals |= extra | {
        "claim": said.claim, "claim_routes": said.claim_routes, "collect": said.collect, "collected": lambda of: said.lists[of], "file": said.file, "event": lambda *_: "",
        "fail": NotImplemented, "problem": NotImplemented, "path": NotImplemented, "snippets": lambda _: [],
        "resources": {name: Resource(fixtures.get(name, []), name) for name in names}}
    return source.render(), said.files


def main(path: str, out: str, runs: int) -> None:
    raw = pathlib.Path(path).read_text()
    extra = yaml.safe_load((SET / "set.yaml").read_text())["extra"]
    env, took = environment(), []
    source = env.from_string((SET / "haproxy.cfg.j2").read_text())
    fixtures = json.loads(raw)
    for _ in range(runs):
        began, cpu = time.monotonic(), time.process_time()
        text, files = render(env, source, fixtures, extra)
        took.append({"ms": (time.monotonic() - began) * 1000, "cpu_ms": (time.process_time() - cpu) * 1000})
    pathlib.Path(out).write_text(text + "".join(files[name] for name in sorted(files)))
    print(json.dumps({"runs": took, "rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
