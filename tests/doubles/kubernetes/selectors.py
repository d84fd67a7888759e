"""Label and field selectors: parsed as the real server does, with its complaints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .status import ApiError

Matches = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(?:(==|!=|=|!|,|\(|\)|<|>)|([^\s=!,()<>]+))")
_NAME = re.compile(r"^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")


_VALUE = re.compile(r"^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")


def _refuse(found: str, expected: str, prefix: str = "unable to parse requirement: ") -> ApiError:
    return ApiError(400, f"{prefix}found '{found}', expected: {expected}")


class _Parser:
    def __init__(self, text: str):
        self.tokens: list[str] = []
        position = 0
        while text[position:].strip():
            match = _TOKEN.match(text, position)
            assert match
            self.tokens.append(match[1] or match[2])
            position = match.end()

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def take(self) -> str:
        return self.tokens.pop(0) if self.tokens else ""

    def word(self, expected: str = "identifier") -> str:
        token = self.take()
        if not token or not re.match(r"[^=!,()<>]", token):
            raise _refuse(token, expected)
        return token

    def key(self) -> str:
        key = self.word()
        if not _NAME.match(key):
            raise ApiError(400, f'unable to parse requirement: <nil>: Invalid value: "{key}": '
                                "name part must consist of alphanumeric characters, '-', '_' or '.'")
        return key

    def value(self, key: str, expected: str = "identifier") -> str:
        value = self.word(expected)
        if not _VALUE.match(value):
            raise ApiError(400, f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}": '
                                "not a label value")
        return value

    def values(self, key: str) -> set[str]:
        if self.peek() != "(":
            raise ApiError(400, f"unable to parse requirement: found '{self.peek()}' expected: '('")
        self.take()
        found = set()
        while True:
            found.add("" if self.peek() in (",", ")") else self.value(key, "',', ')' or identifier"))
            token = self.take()
            if token == ")":
                return found
            if token != ",":
                raise _refuse(token, "',', or ')'")

    def requirement(self) -> Matches:
        if self.peek() == "!":
            self.take()
            key = self.key()
            return lambda labels: key not in labels
        key = self.key()
        operator = self.take() if self.peek() not in ("", ",") else ""
        if not operator:
            return lambda labels: key in labels
        if operator in ("=", "==", "!="):
            value = "" if self.peek() in ("", ",") else self.value(key)
            if operator == "!=":
                return lambda labels: labels.get(key) != value
            return lambda labels: labels.get(key) == value
        if operator == "in":
            chosen = self.values(key)
            return lambda labels: labels.get(key) in chosen
        if operator == "notin":
            barred = self.values(key)
            return lambda labels: labels.get(key) not in barred
        raise _refuse(operator, "in, notin, =, ==, !=, gt, lt")


def label_selector(text: str) -> Matches:
    parser = _Parser(text)
    requirements: list[Matches] = []
    if parser.peek() == ",":
        raise _refuse(",", "!, identifier, or 'end of string'", "")
    while parser.tokens:
        requirements.append(parser.requirement())
        if parser.tokens:
            if parser.peek() != ",":
                raise _refuse(parser.peek(), "',' or 'end of string'", "")
            parser.take()
            if not parser.tokens:
                raise _refuse("", "identifier after ','", "")
    return lambda labels: all(requirement(labels) for requirement in requirements)


@dataclass(frozen=True)
class _Term:
    label: str
    value: str
    wanted: bool


def field_selector(text: str) -> Matches:
    """metadata.name and metadata.namespace, which every resource has; others are refused."""
    terms: list[_Term] = []
    for part in filter(None, text.split(",")):
        match = re.match(r"^([^=!]+)(==|!=|=)([^=!]*)$", part)
        if not match:
            raise ApiError(400, f"invalid selector: '{text}'; can't understand '{part}'")
        if match[1] not in ("metadata.name", "metadata.namespace"):
            raise ApiError(400, f'field label not supported: {match[1]}')
        terms.append(_Term(match[1], match[3], match[2] != "!="))
    return lambda fields: all((fields.get(t.label, "") == t.value) == t.wanted for t in terms)
