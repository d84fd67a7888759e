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
            policy: str = "Cluster", type_: str = "NodePort") -> Object:
    """node_ports: port name -> (port, nodePort)."""
    wanted = {"https": (443, 30443)} if node_ports is None else node_ports
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": type_, "externalTrafficPolicy": policy,
                     "ports": [{"name": label, "protocol": "TCP", "port": number, "nodePort": node_port}
                               for label, (number, node_port) in wanted.items()]}}
