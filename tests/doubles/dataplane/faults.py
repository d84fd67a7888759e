"""Misbehaviour on demand.

A rule is a JSON object: {"action": ..., "method": "PUT", "path": "<regex>", "nth": 1, "times": 1, ...}. It fires on the
nth match of method and path (default: the first) and the `times - 1` ones after it (default: every one from there on).
The path is the whole target with its query: "runtime/backends/be/servers/n1$" is the running HAProxy's side of a server,
"configuration/backends/be/servers/n1.version=" a write of it without a reload.

answer      status, headers, body (text or JSON) instead of the true answer; "apply": true carries the request out first
delay       seconds before the request is read; then all goes on as usual
close       the connection is closed unanswered; "apply": true carries the request out first; "reset": true sends a RST
truncate    the true answer's first `bytes` body bytes under its full Content-Length, then closed
slow        the true answer, `bytes` bytes (default 1) every `seconds` (default 0.01)
garbage     bytes that are no HTTP
html        a proxy's page: status (default 200), text/html
huge        an answer body of `bytes` bytes of JSON (default 64 MiB)
hang        no answer, ever; the connection stays open; "apply": true carries the request out first
rewrite     the request is carried out as if its body had `text`[1] in place of the first `text`[0]: a parser that does not
            know what it writes anew
lie         the request is carried out but for HAProxy, which is sent nothing, and the answer is the usual one of success
            (of a runtime PUT: with what was asked for). What is read later is the truth. With `seconds` it is sent so much
            later, as HAProxy from 3.0 on takes a moment for an address.

These concern no request and act at once; DELETE /faults ends those that last.

fail-reload     the next reload (the next `times` ones) fails with `message`
lie-reload      the next reload (the next `times` ones) does not happen, and is reported as one that succeeded
hold-ticker     no scheduled reload happens until DELETE /faults
forget-reloads  ids start again at -0, earlier ones are unknown and a scheduled one will not come: what a restart of the API does
deaf-runtime    servers of the running HAProxy cannot be read, as through 2.6's master socket, until DELETE /faults
"""

from __future__ import annotations

import dataclasses
import re
import threading
from typing import Any

ON_REQUEST = ("answer", "delay", "close", "truncate", "slow", "garbage", "html", "huge", "hang", "rewrite", "lie")
AT_ONCE = ("fail-reload", "lie-reload", "hold-ticker", "forget-reloads", "deaf-runtime")


@dataclasses.dataclass
class Rule:
    action: str
    method: str = ""
    path: str = ""
    nth: int = 1
    times: int = 0
    status: int = 0
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    body: Any = None
    text: list[str] = dataclasses.field(default_factory=list)
    seconds: float = 0.0
    bytes: int = 0
    apply: bool = False
    reset: bool = False
    message: str = "the double was told to fail this reload"
    seen: int = 0

    @classmethod
    def load(cls, raw: Any) -> "Rule":
        names = {field.name for field in dataclasses.fields(cls)} - {"seen"}
        if not isinstance(raw, dict) or set(raw) - names:
            raise ValueError(f"a rule is an object of {sorted(names)}, not {raw!r}")
        if raw.get("action") not in ON_REQUEST + AT_ONCE:
            raise ValueError(f"action is one of {', '.join(ON_REQUEST + AT_ONCE)}, not {raw.get('action')!r}")
        re.compile(raw.get("path", ""))
        return cls(**raw)

    def fires(self, method: str, target: str) -> bool:
        """Counts a match, and says whether it is one of those meant."""
        if (self.method and self.method != method) or not re.search(self.path, target):
            return False
        self.seen += 1
        return self.seen >= self.nth and (not self.times or self.seen < self.nth + self.times)


class Faults:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rules: list[Rule] = []

    def add(self, rules: list[Rule]) -> None:
        with self.lock:
            self.rules += rules

    def clear(self) -> None:
        with self.lock:
            self.rules = []

    def match(self, method: str, target: str) -> list[Rule]:
        """All rules that fire: every delay, and at most one of the others."""
        out: list[Rule] = []
        with self.lock:
            for rule in self.rules:
                if rule.fires(method, target) and (rule.action == "delay" or all(r.action == "delay" for r in out)):
                    out.append(rule)
        return out
