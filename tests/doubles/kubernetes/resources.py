"""Which resources are served, under which paths, and what their empty objects look like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_EMPTY_NODE_INFO = dict.fromkeys(
    ("machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
     "kubeProxyVersion", "operatingSystem", "architecture"), "")


@dataclass(frozen=True)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    has_generation: bool = False
    has_status: bool = False
    """Its status is written at a path of its own; a write to the object itself leaves it alone."""
    versioned: bool = False
    """A PUT has to name the version that it replaces; of what is not there it makes one."""
    deprecated: str = ""
    empty: dict[str, Any] = field(default_factory=dict, hash=False)
    """What a bookmark's object holds besides kind, apiVersion and metadata: Go's zero values."""
    fields: tuple[str, ...] = ()
    """Of its own that a field selector may name."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def prefix(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "") -> str:
        parts = [self.prefix]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        if name:
            parts.append(name)
        return "/".join(parts)


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False, has_status=True, empty={"spec": {}, "status": {}})
NODES = Resource("", "v1", "nodes", "Node", False, has_status=True, empty={
    "spec": {}, "status": {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": _EMPTY_NODE_INFO}})
ENDPOINTS = Resource("", "v1", "endpoints", "Endpoints", True,
                     deprecated="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
SERVICES = Resource("", "v1", "services", "Service", True, has_status=True,
                    empty={"spec": {}, "status": {"loadBalancer": {}}})
SECRETS = Resource("", "v1", "secrets", "Secret", True, fields=("type",))
SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", True, has_generation=True,
                  empty={"addressType": "", "endpoints": None, "ports": None})
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", True, versioned=True, empty={"spec": {}})

EVENTS = Resource("", "v1", "events", "Event", True, empty={
    "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
    "reportingComponent": "", "reportingInstance": ""})

CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap", True)
PODS = Resource("", "v1", "pods", "Pod", True, has_status=True, empty={"spec": {}, "status": {}})
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress", True, has_generation=True, has_status=True,
                     empty={"spec": {}, "status": {"loadBalancer": {}}})
INGRESS_CLASSES = Resource("networking.k8s.io", "v1", "ingressclasses", "IngressClass", False, has_generation=True, empty={"spec": {}})

ALL = [NAMESPACES, NODES, ENDPOINTS, SERVICES, SECRETS, SLICES, LEASES, EVENTS, CONFIGMAPS, PODS, INGRESSES, INGRESS_CLASSES]
"""Custom resources come and go: serve() and cease()."""


def serve(resource: Resource) -> None:
    if resource not in ALL:
        ALL.append(resource)


def cease(resource: Resource) -> None:
    if resource in ALL:
        ALL.remove(resource)


def discovery(path: str) -> dict[str, Any] | None:
    """What GET /api/v1 or /apis/GROUP/VERSION answers; None: nothing is served there."""
    served = [r for r in ALL if r.prefix == path]
    verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
    listed = [{"name": name, "singularName": "", "namespaced": r.namespaced, "kind": r.kind, "verbs": verbs if name == r.plural else ["get", "patch", "update"]}
              for r in served for name in ((r.plural, f"{r.plural}/status") if r.has_status else (r.plural,))]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": served[0].api_version, "resources": listed} if served else None


@dataclass(frozen=True)
class Target:
    """What an API path names: a collection (name empty) or one object."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def qualified(self) -> str:
        """The resource as the server's messages name it."""
        return f"{self.resource.plural}.{self.resource.group}" if self.resource.group else self.resource.plural

    @property
    def details(self) -> dict[str, str]:
        """As a Status names it."""
        named = {"name": self.name} if self.name else {}
        group = {"group": self.resource.group} if self.resource.group else {}
        return {**named, **group, "kind": self.resource.plural}


def by_kind(kind: str, api_version: str) -> Resource | None:
    return next((r for r in ALL if r.kind == kind and r.api_version == api_version), None)


def parse_path(path: str) -> Target | None:
    """The resource behind a path, None where the real server would know none either."""
    for resource in ALL:
        if not path.startswith(resource.prefix + "/"):
            continue
        parts = path[len(resource.prefix) + 1:].split("/")
        namespace = ""
        if resource.namespaced and len(parts) >= 3 and parts[0] == "namespaces":
            namespace, parts = parts[1], parts[2:]
        if parts[0] != resource.plural or "" in parts:
            continue
        if len(parts) == 1:
            return Target(resource, namespace)
        if resource.namespaced and not namespace:
            continue
        if len(parts) == 2 or (len(parts) == 3 and parts[2] == "status" and resource.has_status):
            return Target(resource, namespace, *parts[1:])
    return None
