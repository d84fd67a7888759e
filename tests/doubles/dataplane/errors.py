"""An answer of the API that is an error, raised where it is found."""

from __future__ import annotations


class ApiError(Exception):
    def __init__(self, status: int, message: str, code: int | None = None, plain: bool = False):
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = status if code is None else code
        self.plain = plain  # sent as text/plain: what 3.0 does for the raw endpoint


def mismatch(actual: int, given: int) -> ApiError:
    return ApiError(409, f"version mismatch: version in configuration file is {actual}, given version is {given}")


def no_transaction(tid: str) -> ApiError:
    """The same lack answers 404 on the transaction itself and 400 on a change inside it."""
    return ApiError(404, f"transaction does not exist: transaction {tid} does not exist")
