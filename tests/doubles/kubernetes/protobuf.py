"""Objects as application/vnd.kubernetes.protobuf: the JSON tree that the double keeps, written field by field.

Numbers are those of the generated.proto of each package. What a table maps to SKIPPED is not written (no client of the double reads it);
what no table has, or has of another type, cannot be written, as no API server could hold it.
"""

from __future__ import annotations

import calendar
import functools
import re
import time
from typing import Any

from .encoding import encode
from .resources import Resource

MAGIC = b"k8s\0"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

STRING, BOOL, INT, TIME, MICRO_TIME, MAP, QUANTITIES, INT_OR_STRING, RAW_JSON, SKIPPED = (
    "string", "bool", "int", "time", "micro time", "map", "quantities", "int or string", "raw JSON", "skipped")
Table = dict[str, tuple[int, Any]]
"""JSON name -> field number and type: one of the words above, a table (a message), or a list of one of these (repeated)."""


class CannotWrite(ValueError):
    """The text says which field."""


class Written(bytes):
    """In a tree: a field that is written already, with its number."""


_OWNER: Table = {"kind": (1, STRING), "name": (3, STRING), "uid": (4, STRING), "apiVersion": (5, STRING), "controller": (6, BOOL),
                 "blockOwnerDeletion": (7, BOOL)}
_MANAGED: Table = {"manager": (1, STRING), "operation": (2, STRING), "apiVersion": (3, STRING), "time": (4, TIME),
                   "fieldsType": (6, STRING), "fieldsV1": (7, RAW_JSON), "subresource": (8, STRING)}
_META: Table = {"name": (1, STRING), "generateName": (2, STRING), "namespace": (3, STRING), "uid": (5, STRING),
                "resourceVersion": (6, STRING), "generation": (7, INT), "creationTimestamp": (8, TIME), "deletionTimestamp": (9, TIME),
                "deletionGracePeriodSeconds": (10, INT), "labels": (11, MAP), "annotations": (12, MAP), "ownerReferences": (13, [_OWNER]),
                "finalizers": (14, [STRING]), "managedFields": (17, [_MANAGED])}
_REFERENCE: Table = {"kind": (1, STRING), "namespace": (2, STRING), "name": (3, STRING), "uid": (4, STRING), "apiVersion": (5, STRING),
                     "resourceVersion": (6, STRING), "fieldPath": (7, STRING)}
_CONDITION: Table = {"type": (1, STRING), "status": (2, STRING), "lastHeartbeatTime": (3, TIME), "lastTransitionTime": (4, TIME),
                     "reason": (5, STRING), "message": (6, STRING)}
_NODE_INFO: Table = {name: (i, STRING) for i, name in enumerate(
    ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion",
     "operatingSystem", "architecture"), 1)}
_TAINT: Table = {"key": (1, STRING), "value": (2, STRING), "effect": (3, STRING), "timeAdded": (4, TIME)}
_NODE: Table = {
    "metadata": (1, _META),
    "spec": (2, {"podCIDR": (1, STRING), "providerID": (3, STRING), "unschedulable": (4, BOOL), "taints": (5, [_TAINT]),
                 "podCIDRs": (7, [STRING])}),
    "status": (3, {"capacity": (1, QUANTITIES), "allocatable": (2, QUANTITIES), "phase": (3, STRING), "conditions": (4, [_CONDITION]),
                   "addresses": (5, [{"type": (1, STRING), "address": (2, STRING)}]),
                   "daemonEndpoints": (6, {"kubeletEndpoint": (1, {"Port": (1, INT)})}), "nodeInfo": (7, _NODE_INFO),
                   "images": (8, [{"names": (1, [STRING]), "sizeBytes": (2, INT)}])})}
_SERVICE_PORT: Table = {"name": (1, STRING), "protocol": (2, STRING), "port": (3, INT), "targetPort": (4, INT_OR_STRING),
                        "nodePort": (5, INT), "appProtocol": (6, STRING)}
_SERVICE: Table = {
    "metadata": (1, _META),
    "spec": (2, {"ports": (1, [_SERVICE_PORT]), "selector": (2, MAP), "clusterIP": (3, STRING), "type": (4, STRING),
                 "externalIPs": (5, [STRING]), "sessionAffinity": (7, STRING), "loadBalancerIP": (8, STRING),
                 "loadBalancerSourceRanges": (9, [STRING]), "externalName": (10, STRING), "externalTrafficPolicy": (11, STRING),
                 "healthCheckNodePort": (12, INT), "publishNotReadyAddresses": (13, BOOL), "ipFamilyPolicy": (17, STRING),
                 "clusterIPs": (18, [STRING]), "ipFamilies": (19, [STRING]), "allocateLoadBalancerNodePorts": (20, BOOL),
                 "loadBalancerClass": (21, STRING), "internalTrafficPolicy": (22, STRING), "trafficDistribution": (23, STRING)}),
    "status": (3, SKIPPED)}
_SLICE: Table = {
    "metadata": (1, _META),
    "endpoints": (2, [{"addresses": (1, [STRING]),
                       "conditions": (2, {"ready": (1, BOOL), "serving": (2, BOOL), "terminating": (3, BOOL)}),
                       "hostname": (3, STRING), "targetRef": (4, _REFERENCE), "deprecatedTopology": (5, MAP), "nodeName": (6, STRING),
                       "zone": (7, STRING), "hints": (8, {"forZones": (1, [{"name": (1, STRING)}]),
                                                          "forNodes": (2, [{"name": (1, STRING)}])})}]),
    "ports": (3, [{"name": (1, STRING), "protocol": (2, STRING), "port": (3, INT), "appProtocol": (4, STRING)}]),
    "addressType": (4, STRING)}
_ADDRESS: Table = {"ip": (1, STRING), "targetRef": (2, _REFERENCE), "hostname": (3, STRING), "nodeName": (4, STRING)}
_ENDPOINTS: Table = {
    "metadata": (1, _META),
    "subsets": (2, [{"addresses": (1, [_ADDRESS]), "notReadyAddresses": (2, [_ADDRESS]),
                     "ports": (3, [{"name": (1, STRING), "port": (2, INT), "protocol": (3, STRING), "appProtocol": (4, STRING)}])}])}
_POD: Table = {"metadata": (1, _META), "spec": (2, SKIPPED),
               "status": (3, {"phase": (1, STRING), "conditions": (2, SKIPPED), "message": (3, STRING), "reason": (4, STRING),
                              "hostIP": (5, STRING), "podIP": (6, STRING), "startTime": (7, TIME), "containerStatuses": (8, SKIPPED),
                              "podIPs": (12, [{"ip": (1, STRING)}]), "hostIPs": (16, [{"ip": (1, STRING)}])})}
_LEASE: Table = {
    "metadata": (1, _META),
    "spec": (2, {"holderIdentity": (1, STRING), "leaseDurationSeconds": (2, INT), "acquireTime": (3, MICRO_TIME),
                 "renewTime": (4, MICRO_TIME), "leaseTransitions": (5, INT)})}
_LIST_META: Table = {"resourceVersion": (2, STRING), "continue": (3, STRING), "remainingItemCount": (4, INT)}
_STATUS: Table = {
    "metadata": (1, _LIST_META), "status": (2, STRING), "message": (3, STRING), "reason": (4, STRING),
    "details": (5, {"name": (1, STRING), "group": (2, STRING), "kind": (3, STRING),
                    "causes": (4, [{"reason": (1, STRING), "message": (2, STRING), "field": (3, STRING)}]),
                    "retryAfterSeconds": (5, INT), "uid": (6, STRING)}),
    "code": (6, INT)}
_TABLES: dict[str, Table] = {"Node": _NODE, "Service": _SERVICE, "EndpointSlice": _SLICE, "Endpoints": _ENDPOINTS, "Pod": _POD,
                             "Lease": _LEASE, "Status": _STATUS}


def has(resource: Resource) -> bool:
    return resource.kind in _TABLES


def varint(value: int) -> bytes:
    """Negative numbers as the ten bytes of their 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def length_delimited(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def _text(number: int, value: Any) -> bytes:
    if not isinstance(value, str):
        raise CannotWrite(f"{value!r} is no string")
    return length_delimited(number, value.encode("utf-8", "surrogatepass"))


def _number(number: int, value: Any, kind: type) -> bytes:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)) or not -1 << 63 <= value < 1 << 63:
        raise CannotWrite(f"{value!r} is no {kind.__name__}")
    return varint(number << 3) + varint(int(value))


@functools.lru_cache(4096)
def _time_of(text: str) -> bytes:
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", text)
    if not match:
        raise CannotWrite(f"{text!r} is no time")
    seconds = calendar.timegm(time.strptime(match[1], "%Y-%m-%dT%H:%M:%S"))
    return _number(1, seconds, int) + _number(2, int((match[2] or "0").ljust(9, "0")), int)


def _time(value: Any) -> bytes:
    if not isinstance(value, str):
        raise CannotWrite(f"{value!r} is no time")
    return _time_of(value)


def _entries(number: int, value: Any, wrapped: bool) -> bytes:
    if not isinstance(value, dict):
        raise CannotWrite(f"{value!r} is no map")
    return b"".join(length_delimited(number, _text(1, key) + (
        length_delimited(2, _text(1, entry)) if wrapped else _text(2, "" if entry is None else entry))) for key, entry in sorted(value.items()))


def _field(number: int, kind: Any, value: Any) -> bytes:
    if isinstance(value, Written):
        return value
    if kind is SKIPPED or value is None:
        return b""
    if isinstance(kind, list):
        if not isinstance(value, list):
            raise CannotWrite(f"{value!r} is no list")
        return b"".join(_field(number, kind[0], part) if part is not None else length_delimited(number, b"") for part in value)
    if isinstance(kind, dict):
        return length_delimited(number, message(kind, value))
    if kind is STRING:
        return _text(number, value)
    if kind in (BOOL, INT):
        return _number(number, value, bool if kind is BOOL else int)
    if kind in (TIME, MICRO_TIME):
        return length_delimited(number, _time(value))
    if kind in (MAP, QUANTITIES):
        return _entries(number, value, kind is QUANTITIES)
    if kind is RAW_JSON:
        return length_delimited(number, length_delimited(1, encode(value)))
    text = isinstance(value, str)
    return length_delimited(number, _number(1, int(text), int) + (_text(3, value) if text else _number(2, value, int)))


def message(table: Table, value: Any) -> bytes:
    if not isinstance(value, dict):
        raise CannotWrite(f"{value!r} is no object")
    fields = []
    for name, inner in value.items():
        if name not in table:
            raise CannotWrite(f"{name}: unknown")
        try:
            fields.append((table[name][0], _field(*table[name], inner)))
        except CannotWrite as e:
            raise CannotWrite(f"{name}: {e}") from None
    return b"".join(data for _, data in sorted(fields, key=lambda field: field[0]))


def _unknown(kind: str, api_version: str, raw: bytes) -> bytes:
    """As Go writes it: contentEncoding and contentType are there and empty."""
    meta = _text(1, api_version) + _text(2, kind)
    return MAGIC + length_delimited(1, meta) + length_delimited(2, raw) + length_delimited(3, b"") + length_delimited(4, b"")


def images(listed: list[dict[str, Any]]) -> Written:
    """Of a node's status, for many that have the same."""
    number, kind = _NODE["status"][1]["images"]
    return Written(_field(number, kind, listed))


def parts_of_node(tree: dict[str, Any]) -> tuple[Written, Written, bytes]:
    """Its metadata and its spec as fields, its status without images as a message."""
    return Written(_field(*_NODE["metadata"], tree["metadata"])), Written(_field(*_NODE["spec"], tree["spec"])), message(_NODE["status"][1], tree["status"])


def node_of_parts(parts: tuple[Written, Written, bytes], images_: Written) -> dict[str, Any]:
    return {"metadata": parts[0], "spec": parts[1], "status": Written(length_delimited(_NODE["status"][0], parts[2] + images_))}


def bare(kind: str, tree: dict[str, Any]) -> bytes:
    """The message alone; kind and apiVersion in the tree are passed over."""
    return message(_TABLES[kind], {name: value for name, value in tree.items() if name not in ("kind", "apiVersion")})


def of_object(kind: str, api_version: str, tree: dict[str, Any]) -> bytes:
    """As of an event or a refusal."""
    return _unknown(kind, api_version, bare(kind, tree))


def of_event(type_: str, written: bytes) -> bytes:
    """A frame of a watch, around an object that is written."""
    event = _text(1, type_) + length_delimited(2, length_delimited(1, written))
    return len(event).to_bytes(4, "big") + event


def of_list(head: dict[str, Any], items: list[dict[str, Any]]) -> bytes:
    table = _TABLES[head["kind"].removesuffix("List")]
    raw = length_delimited(1, message(_LIST_META, head["metadata"])) + b"".join(length_delimited(2, message(table, item)) for item in items)
    return _unknown(head["kind"], head["apiVersion"], raw)
