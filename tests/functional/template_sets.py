"""A template set in a folder, and the commands over it."""

from __future__ import annotations

import pathlib
import subprocess

from tests.harness.daemon import clean_env

from .rig import program

WATCH = "watch:\n  services: {apiVersion: v1, kind: Service, index_by: [metadata.namespace, metadata.name]}\n"
CFG = """defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
frontend web
    bind 127.0.0.1:{{ port }}
    use_backend %[req.hdr(host),lower,map({{ path("map", "hosts.map") }})]
{% for service in resources.services %}
backend {{ service.metadata.name }}
    server s1 127.0.0.1:{{ service.spec.port }}
{% endfor %}
"""
MAP = "{% for service in resources.services %}\n{{ service.metadata.name }}.example.org {{ service.metadata.name }}\n{% endfor %}\n"
TESTS = """extra: {port: 8080}
tests:
  _global:
    fixtures:
      services:
      - {metadata: {name: shop, namespace: x}, spec: {port: 81}}
  one:
    description: a backend for each
    assertions:
    - {type: contains, pattern: ^backend shop$}
    - {type: equals, target: "map:hosts.map", expected: "shop.example.org shop\\n"}
    - {type: haproxy_valid}
    - {type: deterministic}
  two:
    fixtures:
      services:
      - {metadata: {name: blog, namespace: x}, spec: {port: 82}}
    assertions:
    - {type: match_order, patterns: [backend blog, backend shop]}
"""


def make_set(folder: pathlib.Path, yaml: str = WATCH + TESTS, cfg: str = CFG) -> pathlib.Path:
    (folder / "maps").mkdir(parents=True, exist_ok=True)
    (folder / "set.yaml").write_text(yaml)
    (folder / "haproxy.cfg.j2").write_text(cfg)
    (folder / "maps/hosts.map.j2").write_text(MAP)
    return folder


def template(word: str, *args: object, binary: pathlib.Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """The build with sanitizers, which no filter of system calls goes with."""
    own = clean_env(**({"SECCOMP": "false"} if binary is None else {}) | env)
    return subprocess.run([str(binary or program()), "template", word, *map(str, args)], env=own, capture_output=True, text=True, check=False,
                          timeout=120, stdin=subprocess.DEVNULL)
