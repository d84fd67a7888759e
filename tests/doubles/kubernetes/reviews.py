"""Questions about oneself: SelfSubjectReview and SelfSubjectAccessReview. Nothing is stored."""

from __future__ import annotations

import datetime
import json
from typing import Any

from .access import ANONYMOUS, Access
from .encoding import encode
from .http import Request
from .status import ApiError

PATHS = {
    "/apis/authentication.k8s.io/v1/selfsubjectreviews": ("authentication.k8s.io", "SelfSubjectReview"),
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": ("authorization.k8s.io", "SelfSubjectAccessReview"),
}


def answer(access: Access, user: str, request: Request) -> tuple[int, bytes]:
    group, kind = PATHS[request.path]
    plural = f"{kind.lower()}s"
    if request.method != "POST":
        raise ApiError(405, "the server does not allow this method on the requested resource", details={})
    if user == ANONYMOUS:
        raise ApiError(403, f'{plural}.{group} is forbidden: User "{user}" cannot create resource "{plural}" in API group '
                            f'"{group}" at the cluster scope', details={"group": group, "kind": plural})
    body = _body(request, group, kind)
    made = _who(user) if kind == "SelfSubjectReview" else _may(access, user, body)
    return 201, encode({"kind": kind, "apiVersion": f"{group}/v1", **made}) + b"\n"


def _body(request: Request, group: str, kind: str) -> dict[str, Any]:
    try:
        body = json.loads(request.body)
    except ValueError:
        body = None
    if not isinstance(body, dict) or (body.get("kind"), body.get("apiVersion")) != (kind, f"{group}/v1"):
        raise ApiError(400, f"the body of this request was no {kind} of {group}/v1")
    return body


def _who(user: str) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"metadata": {"creationTimestamp": now},
            "status": {"userInfo": {"username": user, "uid": user, "groups": ["system:authenticated"]}}}


def _may(access: Access, user: str, body: dict[str, Any]) -> dict[str, Any]:
    spec = body.get("spec", {})
    asked = spec.get("resourceAttributes")
    if asked is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = {"reason": "FieldValueInvalid", "message": f"Invalid value: null: {why}", "field": "spec.resourceAttributes"}
        raise ApiError(422, f'.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: {why}',
                       details={"group": "authorization.k8s.io", "causes": [cause]})
    allowed = access.allows(user, asked.get("verb", ""), asked.get("resource", ""), asked.get("namespace", ""))
    return {"metadata": {}, "spec": spec, "status": {"allowed": allowed}}
