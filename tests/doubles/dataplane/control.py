"""The second port: faults, the log of requests, edits behind the API's back.

POST /faults [rules]   GET /faults   DELETE /faults   GET /requests   DELETE /requests
POST /restart-haproxy  with `--haproxy none`: another process, states and addresses as the file has them
POST /hand-edit {"replace": ["old", "new"]} or {"text": "a whole file"}: written beside the file and renamed over it
GET /state   version, transactions, reloads
"""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from .faults import AT_ONCE, Faults, Rule
from .httpd import RequestLog
from .service import Service
from .transactions import write_atomically
from .web import Answer, Request


class Control:
    def __init__(self, service: Service, faults: Faults, log: RequestLog):
        self.service = service
        self.faults = faults
        self.log = log
        self.deaf = service.deaf  # as it was started

    def answer(self, request: Request) -> Answer:
        act = {("POST", "/faults"): self._add, ("GET", "/faults"): self._show, ("DELETE", "/faults"): self._clear,
               ("GET", "/requests"): self._requests, ("DELETE", "/requests"): self._forget,
               ("POST", "/hand-edit"): self._edit, ("POST", "/restart-haproxy"): self._restart,
               ("GET", "/state"): self._state}.get((request.method, request.path))
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

    def _show(self, _: Any) -> Any:
        return [vars(rule) for rule in self.faults.rules]

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

    def _restart(self, _: Any) -> Any:
        self.service.restart_offline()
        return {}

    def _edit(self, raw: Any) -> Any:
        path = pathlib.Path(self.service.file)
        text = raw["text"] if "text" in raw else path.read_text()
        if "replace" in raw:
            old, new = raw["replace"]
            if old not in text:
                raise ValueError(f"{old!r} is not in {path}")
            text = text.replace(old, new)
        write_atomically(path, text)
        return {}

    def _state(self, _: Any) -> Any:
        with self.service.lock:
            return {"version": self.service.version(), "transactions": self.service.transactions.list(),
                    "reloads": self.service.reloads.list()}
