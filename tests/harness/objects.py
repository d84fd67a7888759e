"""Builders of Kubernetes objects, as a client writes them: for the double and for a real kube-apiserver alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Object = dict[str, Any]

NAMESPACE = "ingress-nginx"
SERVICE = "ingress-nginx"
READY = {"ready": True, "serving": True, "terminating": False}
TERMINATING = {"ready": False, "serving": True, "terminating": True}
NOT_READY = {"ready": False, "serving": False, "terminating": False}


def node(name: str, *ips: str, labels: Mapping[str, str] | None = None, addresses: Sequence[tuple[str, str]] = (),
         taints: Sequence[tuple[str, str]] = (), ready: bool = True, unschedulable: bool = False) -> Object:
    """ips become InternalIP addresses in this order, addresses are further (type, address) pairs, taints (key, effect)."""
    spec: Object = {}
    if unschedulable:
        spec["unschedulable"] = True
    if taints:
        spec["taints"] = [{"key": key, "effect": effect} for key, effect in taints]
    pairs = [*(("InternalIP", ip) for ip in ips), ("Hostname", name), *addresses]
    condition = {"type": "Ready", "status": "True" if ready else "False",
                 "reason": "KubeletReady" if ready else "KubeletNotReady", "message": ""}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
            "spec": spec,
            "status": {"addresses": [{"type": type_, "address": address} for type_, address in pairs],
                       "conditions": [condition]}}


def endpoint(ip: str, node_name: str | None = None, conditions: Mapping[str, bool] | None = READY, **more: Any) -> Object:
    """conditions None: an empty mapping, which means ready."""
    built: Object = {"addresses": [ip], "conditions": dict(conditions or {}), **more}
    if node_name is not None:
        built["nodeName"] = node_name
    return built


def port(number: int | None, name: str = "https", protocol: str = "TCP") -> Object:
    built: Object = {"name": name, "protocol": protocol}
    if number is not None:
        built["port"] = number
    return built


def slice_(name: str, service: str, endpoints: Iterable[Object], *, ports: Iterable[Object] | None = None,
           namespace: str = NAMESPACE, address_type: str = "IPv4", labels: Mapping[str, str] | None = None) -> Object:
    """endpoints from endpoint(); an EndpointSlice's addresses may not be 127.x on a real server."""
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": name, "namespace": namespace,
                         "labels": {"kubernetes.io/service-name": service, **(labels or {})}},
            "addressType": address_type, "endpoints": list(endpoints),
            "ports": [port(8443)] if ports is None else list(ports)}


def endpoints(service: str, ready: Iterable[tuple[str, str | None]], not_ready: Iterable[tuple[str, str | None]] = (), *,
              ports: Iterable[Object] | None = None, namespace: str = NAMESPACE) -> Object:
    """An Endpoints object; addresses are (ip, node name or None) pairs."""
    subset: Object = {}
    for key, pairs in (("addresses", ready), ("notReadyAddresses", not_ready)):
        listed = [{"ip": ip, **({"nodeName": name} if name is not None else {})} for ip, name in pairs]
        if listed:
            subset[key] = listed
    subset["ports"] = [port(8443)] if ports is None else list(ports)
    with_addresses = "addresses" in subset or "notReadyAddresses" in subset
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": service, "namespace": namespace},
            "subsets": [subset] if with_addresses else []}


def service(name: str = SERVICE, *, namespace: str = NAMESPACE, node_ports: Mapping[str, tuple[int, int]] | None = None,
            policy: str = "Cluster", type_: str = "NodePort", health_check_node_port: int = 0,
            ip_families: Sequence[str] = (), annotations: Mapping[str, str] | None = None) -> Object:
    """node_ports: port name -> (port, nodePort); a nodePort of 0 and a name of "" are left out, as is what a Service of type
    ClusterIP may not have. ip_families: () leaves them to the server."""
    wanted = {"https": (443, 30443)} if node_ports is None else node_ports
    ports: list[Object] = []
    for label, (number, node_port) in wanted.items():
        ports.append({"protocol": "TCP", "port": number})
        ports[-1].update({"name": label} if label else {}, **({"nodePort": node_port} if node_port else {}))
    spec: Object = {"type": type_, "ports": ports}
    if type_ in ("NodePort", "LoadBalancer"):
        spec["externalTrafficPolicy"] = policy
    if health_check_node_port:
        spec["healthCheckNodePort"] = health_check_node_port
    if ip_families:
        spec["ipFamilies"] = list(ip_families)
        spec["ipFamilyPolicy"] = "SingleStack" if len(ip_families) == 1 else "RequireDualStack"
    meta: Object = {"name": name, "namespace": namespace}
    if annotations:
        meta["annotations"] = dict(annotations)
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


def event(name: str, service: str = SERVICE, *, namespace: str = NAMESPACE, uid: str = "", count: int = 1, **more: Any) -> Object:
    """On a Service; more: other members of it."""
    about = {"apiVersion": "v1", "kind": "Service", "namespace": namespace, "name": service, **({"uid": uid} if uid else {})}
    when = "2024-01-01T00:00:00Z"
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace}, "involvedObject": about,
            "type": "Normal", "reason": "Synced", "message": "all is well", "count": count, "firstTimestamp": when, "lastTimestamp": when,
            "source": {"component": "haproxy-k8s-sync", "host": "pod-1"}, "reportingComponent": "haproxy-k8s-sync",
            "reportingInstance": "pod-1", **more}


def lease(name: str, holder: str = "", *, namespace: str = NAMESPACE, seconds: int = 15, transitions: int = 0,
          renewed: str = "2024-01-01T00:00:00.000000Z", version: str = "", labels: Mapping[str, str] | None = None) -> Object:
    meta: Object = {"name": name, "namespace": namespace}
    meta.update({"resourceVersion": version} if version else {}, **({"labels": dict(labels)} if labels else {}))
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta,
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": renewed, "renewTime": renewed,
                     "leaseTransitions": transitions}}
