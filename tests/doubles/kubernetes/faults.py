"""Faults on demand: which request one hits, and what it does to the answer.

A fault is a JSON object. What it hits (all optional):
    resource   plural name, such as "nodes"
    verb       "list" (any page), "first-page", "next-page", "watch" (any), "streaming-list", "resume" (a watch from a
               version), "get", "create", "update", "patch", "delete"
    token      of the client: that of one daemon of several
    nth        hits from the nth matching request on (1)
    times      hits so many requests (1); 0: until it is removed
What it does, one of:
    status     this HTTP status with a Status object; also message, reason, retryAfter, body and contentType (any text
               instead of the Status), headers
    redirect   302 to this URL
    hang       true: takes the request and never answers
    insert     this text, raw, into the stream or list at the position
    insertBase64  the same of bytes that are no text
    error      {code, message, reason, retryAfter}: an ERROR event at the position, then the stream ends
    stall      true: from the position on nothing is sent, the socket stays open
    cut        "clean" (the HTTP body ends in good order), "fin" or "reset" at the position
    split      n: the body leaves in pieces of n bytes; a list of sizes is used in turn
    pad        the first object carries an annotation of so many bytes: one very long line
encoding, "json" or "protobuf", says what the answer is written in, and goes with any of them (alone, too); without it an answer in which
a fault inserts, pads, counts bytes or ends with an error is JSON.
insert and insertBase64 go together with cut, stall and error. The position is one of:
    afterEvents n     after n lines of a watch (default 0)
    afterBytes n      after n bytes of the body
    initialEnd        "before" or "after" the bookmark that ends the initial events
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VERBS = ("list", "first-page", "next-page", "watch", "streaming-list", "resume", "get", "create", "update",
         "patch", "delete")
_MATCHING = {"resource": str, "verb": str, "token": str, "nth": int, "times": int}
_ACTIONS = {"status": int, "redirect": str, "hang": bool, "insert": str, "insertBase64": str, "error": dict, "stall": bool, "cut": str,
            "split": (int, list), "pad": int, "encoding": str}
_DETAILS = {"message": str, "reason": str, "retryAfter": int, "body": str, "contentType": str, "headers": dict,
            "afterEvents": int, "afterBytes": int, "initialEnd": str}


class BadFault(ValueError):
    """A fault that cannot be understood; the text says why."""


@dataclass
class Fault:
    spec: dict[str, Any]
    id: int
    seen: int = 0
    hits: int = 0

    def __post_init__(self) -> None:
        known = {**_MATCHING, **_ACTIONS, **_DETAILS}
        for name, value in self.spec.items():
            if name not in known:
                raise BadFault(f"{name} is no field of a fault; known: {', '.join(known)}")
            if not isinstance(value, known[name]):
                raise BadFault(f"{name}: {value!r} is of the wrong type")
        if not any(name in self.spec for name in _ACTIONS):
            raise BadFault(f"a fault does one of {', '.join(_ACTIONS)}")
        if self.spec.get("verb", "list") not in VERBS:
            raise BadFault(f"verb: {self.spec['verb']} is none of {', '.join(VERBS)}")
        if self.spec.get("cut", "fin") not in ("clean", "fin", "reset"):
            raise BadFault(f"cut: {self.spec['cut']} is none of clean, fin, reset")
        if self.spec.get("encoding", "json") not in ("json", "protobuf"):
            raise BadFault(f"encoding: {self.spec['encoding']} is neither json nor protobuf")
        if self.spec.get("initialEnd", "before") not in ("before", "after"):
            raise BadFault(f"initialEnd: {self.spec['initialEnd']} is neither before nor after")

    def hit(self, resource: str, verbs: set[str], token: str) -> bool:
        """Counts a request and says whether it is hit."""
        spec = self.spec
        if spec.get("resource", resource) != resource or ("verb" in spec and spec["verb"] not in verbs):
            return False
        if spec.get("token", token) != token:
            return False
        if spec.get("times", 1) and self.hits >= spec.get("times", 1):
            return False
        self.seen += 1
        if self.seen < spec.get("nth", 1):
            return False
        self.hits += 1
        return True

    def shown(self) -> dict[str, Any]:
        return {"id": self.id, "seen": self.seen, "hits": self.hits, **self.spec}


class Faults:
    def __init__(self) -> None:
        self.all: list[Fault] = []
        self._last = 0

    def add(self, spec: Any) -> Fault:
        if not isinstance(spec, dict):
            raise BadFault(f"a fault is a JSON object, not {type(spec).__name__}")
        self._last += 1
        self.all.append(Fault(spec, self._last))
        return self.all[-1]

    def remove(self, fault_id: int | None = None) -> None:
        self.all = [fault for fault in self.all if fault_id is not None and fault.id != fault_id]

    def pick(self, resource: str, verbs: set[str], token: str) -> Fault | None:
        """The first that hits; those behind it do not count this request."""
        return next((fault for fault in self.all if fault.hit(resource, verbs, token)), None)
