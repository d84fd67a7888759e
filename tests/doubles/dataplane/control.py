"""The second port: faults, the log of requests.

POST /faults [rules]   DELETE /faults   GET /requests   DELETE /requests
"""

from __future__ import annotations

import json
import re
from typing import Any

from .faults import AT_ONCE, Faults, Rule
from .httpd import RequestLog
from .service import Service
from .web import Answer, Request


class Control:
    def __init__(self, service: Service, faults: Faults, log: RequestLog):
        self.service = service
        self.faults = faults
        self.log = log
        self.deaf = service.deaf  # as it was started

    def answer(self, request: Request) -> Answer:
        act = {("POST", "/faults"): self._add, ("DELETE", "/faults"): self._clear,
               ("GET", "/requests"): self._requests, ("DELETE", "/requests"): self._forget}.get((request.method, request.path))
        if act is None:
            return Answer(404, {"message": __doc__})
        try:
            return Answer(200, act(json.loads(request.body) if request.body else None))
        except (ValueError, KeyError, TypeError, re.error) as e:
            return Answer(400, {"message": str(e)})

    def _add(self, raw: Any) -> Any:
        rules = [Rule.load(r) for r in (raw if isinstance(raw, list) else [raw])]
        for rule in rules:
            self._at_once(rule)
        self.faults.add([rule for rule in rules if rule.action not in AT_ONCE])
        return {"added": len(rules)}

    def _at_once(self, rule: Rule) -> None:
        reloads = self.service.reloads
        if rule.action == "fail-reload":
            reloads.fail_next += [rule.message] * (rule.times or 1)
        elif rule.action == "lie-reload":
            reloads.lies += rule.times or 1
        elif rule.action == "hold-ticker":
            reloads.held.set()
        elif rule.action == "forget-reloads":
            reloads.forget()
        elif rule.action == "deaf-runtime":
            self.service.deaf = True

    def _clear(self, _: Any) -> Any:
        self.faults.clear()
        self.service.reloads.fail_next.clear()
        self.service.reloads.lies = 0
        self.service.reloads.held.clear()
        self.service.deaf = self.deaf
        return {}

    def _requests(self, _: Any) -> Any:
        return self.log.told()

    def _forget(self, _: Any) -> Any:
        self.log.entries = []
        return {}
