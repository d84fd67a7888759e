"""The query of a list or watch, checked as the real server checks it."""

from __future__ import annotations

from dataclasses import dataclass

from .selectors import Matches, field_selector, label_selector
from .status import ApiError, invalid_options

NOT_OLDER_THAN, EXACT = "NotOlderThan", "Exact"
_MATCH = "resourceVersionMatch"
_INITIAL = "sendInitialEvents"


@dataclass(frozen=True)
class Options:
    labels: Matches
    fields: Matches
    label_text: str
    field_text: str
    watch: bool
    limit: int
    continue_token: str
    version_text: str
    version_match: str
    initial_events: bool | None
    bookmarks: bool
    timeout_s: float

    def version(self) -> int | None:
        """None where none was given."""
        if self.version_text == "":
            return None
        if self.version_text.isascii() and self.version_text.isdigit():
            return int(self.version_text)
        why = (f'resourceVersion: Invalid value: "{self.version_text}": strconv.ParseUint: '
               f'parsing "{self.version_text}": invalid syntax')
        if self.watch:
            raise ApiError(500, why, reason="")
        raise ApiError(400, f"invalid resource version: {why}")

    @property
    def must_be_fresh(self) -> bool:
        """Whether the request waits for the watch cache to reach the version that it names."""
        return not self.continue_token and (not self.watch or bool(self.initial_events))


def _flag(query: dict[str, str], name: str) -> bool | None:
    """Anything but "false" and "0" is true, even nothing after the name."""
    if name not in query:
        return None
    return query[name].lower() not in ("false", "0")


def _number(query: dict[str, str], name: str) -> int:
    text = query.get(name, "")
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        raise ApiError(400, f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def parse(query: dict[str, str], streaming_lists: bool, own_fields: tuple[str, ...] = ()) -> Options:
    options = Options(
        labels=label_selector(query.get("labelSelector", "")), fields=field_selector(query.get("fieldSelector", ""), own_fields),
        label_text=query.get("labelSelector", ""), field_text=query.get("fieldSelector", ""),
        watch=bool(_flag(query, "watch")), limit=max(0, _number(query, "limit")), continue_token=query.get("continue", ""),
        version_text=query.get("resourceVersion", ""), version_match=query.get(_MATCH, ""),
        initial_events=_flag(query, _INITIAL), bookmarks=bool(_flag(query, "allowWatchBookmarks")),
        timeout_s=float(_number(query, "timeoutSeconds")))
    problems = _watch_problems(options, streaming_lists) if options.watch else _list_problems(options)
    if problems:
        raise invalid_options(problems)
    return options


def _forbidden(field: str, why: str) -> tuple[str, str, str, str]:
    return (field, "FieldValueForbidden", "Forbidden", why)


def _unsupported(field: str, value: str, known: str) -> tuple[str, str, str, str]:
    return (field, "FieldValueNotSupported", f'Unsupported value: "{value}"', f"supported values: {known}")


def _list_problems(o: Options) -> list[tuple[str, str, str, str]]:
    problems = []
    if o.version_match:
        if not o.version_text:
            problems.append(_forbidden(_MATCH, f"{_MATCH} is forbidden unless resourceVersion is provided"))
        if o.continue_token:
            problems.append(_forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
        if o.version_match not in (EXACT, NOT_OLDER_THAN):
            problems.append(_unsupported(_MATCH, o.version_match, f'"{EXACT}", "{NOT_OLDER_THAN}", ""'))
        if o.version_match == EXACT and o.version_text == "0":
            problems.append(_forbidden(_MATCH, f'{_MATCH} "exact" is forbidden for resourceVersion "0"'))
    if o.initial_events is not None:
        problems.append(_forbidden(_INITIAL, f"{_INITIAL} is forbidden for list"))
    return problems


def _watch_problems(o: Options, streaming_lists: bool) -> list[tuple[str, str, str, str]]:
    problems = []
    if o.initial_events is not None:
        if o.version_match != NOT_OLDER_THAN:
            problems.append(_forbidden(_MATCH, f"{_INITIAL} requires setting {_MATCH} to {NOT_OLDER_THAN}"))
        if not streaming_lists:
            problems.append(_forbidden(_INITIAL, f"{_INITIAL} is forbidden for watch unless the WatchList feature gate "
                                                 "is enabled"))
    if o.version_match:
        if o.initial_events is None:
            problems.append(_forbidden(_MATCH, f"{_MATCH} is forbidden for watch unless {_INITIAL} is provided"))
        if o.version_match != NOT_OLDER_THAN:
            problems.append(_unsupported(_MATCH, o.version_match, f'"{NOT_OLDER_THAN}"'))
    if o.continue_token and (o.version_match or o.version_text in ("", "0")):
        problems.append(_forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    return problems
