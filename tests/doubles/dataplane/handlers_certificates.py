"""The certificates of the running HAProxy, each by the path that it was loaded by; from 3.2 on."""

from __future__ import annotations

import datetime
import pathlib

from .errors import ApiError
from .runtime import Runtime
from .service import Service
from .web import Answer, Request

FIELDS = {"Filename": "storage_name", "Status": "status", "Serial": "serial", "Algorithm": "algorithm", "SHA1 FingerPrint": "sha1_finger_print",
          "Subject": "subject", "Issuer": "issuers", "Subject Alternative Name": "subject_alternative_names"}
TIMES = {"notBefore": "not_before", "notAfter": "not_after"}


def _runtime(service: Service, request: Request) -> Runtime:
    if service.play == "3.0":
        raise ApiError(404, f"path {request.path} was not found")
    runtime = service.runtime()
    if runtime is None:
        raise ApiError(500, "retry - unable to configure runtime client")
    return runtime


def show_all(service: Service, request: Request) -> Answer:
    return Answer(200, [{"description": pathlib.Path(name).name, "storage_name": name} for name in _runtime(service, request).certificates()])


def show(service: Service, request: Request) -> Answer:
    name, = request.args
    found = _runtime(service, request).certificate(name)
    if "Filename" not in found:
        raise ApiError(404, f"Can't display the certificate: Not found or the certificate is a bundle! [show ssl cert {name}] not found")
    model = {field: found[key] for key, field in FIELDS.items() if key in found}
    return Answer(200, model | {field: _time(found[key]) for key, field in TIMES.items() if key in found})


def _time(text: str) -> str:
    return datetime.datetime.strptime(text, "%b %d %H:%M:%S %Y GMT").strftime("%Y-%m-%dT%H:%M:%S.000Z")
