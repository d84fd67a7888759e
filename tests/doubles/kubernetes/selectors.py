"""Label and field selectors: parsed as the real server does, with its complaints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .status import ApiError

Matches = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(?:(==|!=|=|!|,|\(|\)|<|>)|([^\s=!,()<>]+))")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MAX_NAME, _MAX_PREFIX = 63, 253
_FORM = "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_NAME_FORM = f"must {_FORM} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME.pattern}')"
_VALUE_FORM = (f"a valid label must be an empty string or {_FORM} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
               f"for validation is '({_NAME.pattern})?')")
_SUBDOMAIN_FORM = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
                   "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
                   f"'{_SUBDOMAIN.pattern}')")


def _refuse(found: str, expected: str, prefix: str = "unable to parse requirement: ") -> ApiError:
    return ApiError(400, f"{prefix}found '{found}', expected: {expected}")


def _invalid(where: str, value: str, problems: list[str]) -> ApiError:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    return ApiError(400, f'unable to parse requirement: {where}: Invalid value: "{quoted}": {"; ".join(problems)}')


def _name_problems(name: str) -> list[str]:
    problems = ["name part must be non-empty"] if not name else []
    if len(name) > _MAX_NAME:
        problems.append(f"name part must be no more than {_MAX_NAME} characters")
    if not _NAME.fullmatch(name):
        problems.append(f"name part {_NAME_FORM}")
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    problems = [f"prefix part must be no more than {_MAX_PREFIX} characters"] if len(prefix) > _MAX_PREFIX else []
    return problems if _SUBDOMAIN.fullmatch(prefix) else [*problems, f"prefix part {_SUBDOMAIN_FORM}"]


def _key_problems(key: str) -> list[str]:
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        return [f"a qualified name {_NAME_FORM} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    return [problem for prefix in prefixes for problem in _prefix_problems(prefix)] + _name_problems(name)


def _value_problems(value: str) -> list[str]:
    problems = [f"must be no more than {_MAX_NAME} characters"] if len(value) > _MAX_NAME else []
    return problems if not value or _NAME.fullmatch(value) else [*problems, _VALUE_FORM]


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

    def at_word(self) -> bool:
        return re.match(r"[^=!,()<>]", self.peek()) is not None

    def at_requirement(self) -> bool:
        return self.at_word() or self.peek() == "!"

    def word(self, expected: str = "identifier") -> str:
        good, token = self.at_word(), self.take()
        if not good:
            raise _refuse(token, expected)
        return token

    def key(self) -> str:
        key = self.word()
        if problems := _key_problems(key):
            raise _invalid("<nil>", key, problems)
        return key

    def value(self, key: str, expected: str = "identifier") -> str:
        value = self.word(expected)
        if problems := _value_problems(value):
            raise _invalid(f"values[0][{key}]", value, problems)
        return value

    def integer(self) -> int:
        value = "" if self.peek() in ("", ",") else self.word()
        if not _INTEGER.fullmatch(value):
            raise _invalid("values[0]", value, ["for 'Gt', 'Lt' operators, the value must be an integer"])
        return int(value)

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
                raise _refuse(token, "',' or ')'")

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
        if operator in ("<", ">"):
            border, sign = self.integer(), 1 if operator == ">" else -1
            return lambda labels: bool(_INTEGER.fullmatch(labels.get(key, ""))) and sign * int(labels[key]) > sign * border
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
    if parser.tokens and not parser.at_requirement():
        raise _refuse(parser.peek(), "!, identifier, or 'end of string'", "")
    while parser.tokens:
        requirements.append(parser.requirement())
        separator = parser.take()
        if separator not in ("", ","):
            raise _refuse(separator, "',' or 'end of string'", "")
        if separator and not parser.at_requirement():
            raise _refuse(parser.peek(), "identifier after ','", "")
    return lambda labels: all(requirement(labels) for requirement in requirements)


@dataclass(frozen=True)
class _Term:
    label: str
    value: str
    wanted: bool


def field_selector(text: str, own: tuple[str, ...] = ()) -> Matches:
    """metadata.name and metadata.namespace, which every resource has, and its own; others are refused."""
    terms: list[_Term] = []
    for part in filter(None, text.split(",")):
        match = re.match(r"^([^=!]+)(==|!=|=)([^=!]*)$", part)
        if not match:
            raise ApiError(400, f"invalid selector: '{text}'; can't understand '{part}'")
        if match[1] not in ("metadata.name", "metadata.namespace", *own):
            raise ApiError(400, f'field label not supported: {match[1]}')
        terms.append(_Term(match[1], match[3], match[2] != "!="))
    return lambda fields: all((fields.get(t.label, "") == t.value) == t.wanted for t in terms)
