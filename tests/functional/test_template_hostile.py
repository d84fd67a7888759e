"""The shipped set with objects that no API server would let in: whatever one of them says, the route of a good one stays, and each
server line in haproxy.cfg is of an endpoint. Random objects; the build has sanitizers."""

from __future__ import annotations

import json
import pathlib
import random
import re
import shutil
from typing import Any

import pytest
import yaml

from tests.harness.process import ROOT

from .template_sets import template

WORDS = ['"', "'", "\n", "\r", "\t", " ", "#", "\\", "%", "%[env(X)]", "{{ 7*7 }}", "{%", "/../", "..", "${HOME}", "/https", "*", "*.", ".", "-",
         "a", "b.example", "/", ";", "<<", "@", "|", ",", "(", ")", "map_str(", "x" * 300, "é", "😀", "\u2028", "\u202e", "fe80::1", "[::1]", "0",
         "server x 192.0.2.1:1", "\n  server evil 192.0.2.66:1", "\n  http-request deny\n", "}}"]
# What server lines may say: the endpoints below.
SERVER = re.compile(r"  server (10\.[12]\.0\.\d_\d+) (10\.[12]\.0\.\d:\d+)")


class Hostile:
    def __init__(self, seed: int):
        self.dice = random.Random(seed)

    def words(self, most: int = 4) -> str:
        return "".join(self.dice.choice(WORDS) for _ in range(self.dice.randint(0, most)))

    def odd(self) -> Any:
        return self.dice.choice([None, 0, -1, 1.5, 1e308, True, [], {}, [None], {"a": None}, 2**63, self.words(), [self.words()], {"k": self.words()}])

    def change(self, value: Any, share: float) -> Any:
        """Some of it in other words, of another type, or left out."""
        if isinstance(value, (dict, list)) and self.dice.random() < share / 20:
            return self.odd()
        if isinstance(value, dict):
            return {key: self.change(one, share) for key, one in value.items() if self.dice.random() > share / 7}
        if isinstance(value, list):
            return [self.change(one, share) for one in value]
        if self.dice.random() < share:
            return self.words() if isinstance(value, str) and self.dice.random() < 0.7 else self.odd()
        if isinstance(value, str) and self.dice.random() < share:
            at = self.dice.randint(0, len(value))
            return value[:at] + self.words(2) + value[at:]
        return value

    def object(self, name: str, value: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        changed = self.change(value, self.dice.choice([0.05, 0.15, 0.4]))
        return {**(changed if isinstance(changed, dict) else {}), "metadata": {"name": name, "namespace": "web", **metadata}}

    def ingress(self, number: int) -> dict[str, Any]:
        backend = {"service": {"name": self.dice.choice(["shop", "api"]), "port": self.dice.choice([{"name": "http"}, {"number": 80}])}}
        notes = {"ssl-redirect": "false", "backend-protocol": self.dice.choice(["https", "h2"]), "balance": "leastconn", "timeout-server": "5s"}
        path = {"path": "/a", "pathType": self.dice.choice(["Prefix", "Exact", "ImplementationSpecific"]), "backend": backend}
        spec = {"ingressClassName": "haproxy", "defaultBackend": backend, "tls": [{"hosts": [f"h{number}.example"], "secretName": "t"}],
                "rules": [{"host": f"h{number}.example", "http": {"paths": [path]}}]}
        annotations = {f"haproxy-k8s-sync/{key}": self.words() if self.dice.random() < 0.1 else value for key, value in notes.items()}
        return self.object(f"i{number}", {"spec": spec}, annotations=annotations, creationTimestamp="2026-02-01T00:00:00Z")

    def slice(self, number: int) -> dict[str, Any]:
        value = {"addressType": "IPv4", "ports": [{"name": "http", "port": 8080}],
                 "endpoints": [{"addresses": ["10.2.0.1"], "conditions": {"ready": True}}, {"addresses": ["10.2.0.2"]}]}
        return self.object(f"s{number}", value, labels={"kubernetes.io/service-name": self.dice.choice(["shop", "api"])})

    def secret(self, number: int) -> dict[str, Any]:
        return self.object("t" if number == 0 else f"t{number}", {"data": {"tls.crt": "aGVsbG8=", "tls.key": "aGVsbG8="}})


@pytest.mark.parametrize("seed", range(4))
def test_a_good_route_stays_and_no_line_is_smuggled_in(tmp_path: pathlib.Path, seed: int) -> None:
    made, hostile = tmp_path / "set", Hostile(seed)
    shutil.copytree(ROOT / "templates" / "ingress", made)
    content = yaml.safe_load((made / "set.yaml").read_text())
    fixtures = content["tests"]["_global"]["fixtures"]
    fixtures["ingresses"] += [hostile.ingress(i) for i in range(60)]
    fixtures["slices"] += [hostile.slice(i) for i in range(12)]
    fixtures["services"] += [hostile.object(f"v{i}", {"spec": {"ports": [{"name": "http", "port": 80}]}}) for i in range(5)]
    fixtures["secrets"] = [hostile.secret(i) for i in range(3)]
    good = {"type": "match_count", "target": "map:prefix.map", "pattern": "^shop.example.com/ web_shop_http$", "count": 1}
    content["tests"] = {"_global": content["tests"]["_global"], "t": {"assertions": [{"type": "haproxy_valid"}, {"type": "deterministic"}, good]}}
    (made / "set.yaml").write_text(json.dumps(content, ensure_ascii=False))
    tested, rendered = template("test", made), template("render", made, "--test=t")
    assert tested.returncode == 0 and rendered.returncode == 0, tested.stdout + rendered.stderr
    servers = [line for line in rendered.stdout.splitlines() if re.match(r"\s*server\s", line)]
    assert servers and all(SERVER.fullmatch(line) for line in servers), servers
    assert not re.search(r"^\s*http-request deny", rendered.stdout, re.M)
