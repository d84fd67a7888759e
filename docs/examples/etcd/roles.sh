#!/bin/sh
# Two users of etcd for one ETCD_PATH. The producer writes all of it. Its load balancers read it, and write only what they say of
# themselves, so that a stolen password of one changes nothing on the others. `user add` asks for the password.
set -eu
etcdctl role add producer
etcdctl role grant-permission producer readwrite /haproxy/east
etcdctl role grant-permission producer --prefix=true readwrite /haproxy/east/
etcdctl role add load-balancer
etcdctl role grant-permission load-balancer read /haproxy/east
etcdctl role grant-permission load-balancer --prefix=true read /haproxy/east/
etcdctl role grant-permission load-balancer --prefix=true readwrite /haproxy/east/status/
etcdctl user add producer
etcdctl user grant-role producer producer
etcdctl user add load-balancer
etcdctl user grant-role load-balancer load-balancer
