"""Status objects, the bodies of every refusal."""

from __future__ import annotations

from typing import Any

from .encoding import encode
from .resources import Target

REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed",
           409: "Conflict", 410: "Expired", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError",
           503: "ServiceUnavailable", 504: "Timeout"}


def status(code: int, message: str, reason: str | None = None, details: dict[str, Any] | None = None,
           metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """reason None: the usual one for the code; "": none at all."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": metadata or {}, "status": "Failure",
                            "message": message}
    reason = REASONS.get(code, "") if reason is None else reason
    if reason:
        body["reason"] = reason
    if details is not None:
        body["details"] = details
    body["code"] = code
    return body


class ApiError(Exception):
    """A refusal: an HTTP status with a Status object."""

    def __init__(self, code: int, message: str, reason: str | None = None, details: dict[str, Any] | None = None,
                 metadata: dict[str, Any] | None = None, headers: dict[str, str] | None = None):
        super().__init__(message)
        self.code = code
        self.headers = dict(headers or {})
        self.status = status(code, message, reason, details, metadata)

    @property
    def body(self) -> bytes:
        return encode(self.status) + b"\n"


def too_old(requested: int, oldest: int) -> ApiError:
    return ApiError(410, f"too old resource version: {requested} ({oldest})")


def too_large(requested: int, current: int) -> ApiError:
    return ApiError(504, f"Timeout: Too large resource version: {requested}, current: {current}",
                    details={"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                             "retryAfterSeconds": 1}, headers={"Retry-After": "1"})


def not_found(target: Target) -> ApiError:
    return ApiError(404, f'{target.qualified} "{target.name}" not found', details=target.details)


def invalid_options(problems: list[tuple[str, str, str, str]]) -> ApiError:
    """422 for list options; each problem is (field, reason, what the reason is called in the text, explanation)."""
    texts = [f"{field}: {called}: {why}" for field, _, called, why in problems]
    joined = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    causes = [{"reason": reason, "message": f"{called}: {why}", "field": field} for field, reason, called, why in problems]
    return ApiError(422, f'ListOptions.meta.k8s.io "" is invalid: {joined}',
                    details={"group": "meta.k8s.io", "kind": "ListOptions", "causes": causes})
