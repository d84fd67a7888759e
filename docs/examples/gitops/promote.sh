#!/bin/sh
# May a haproxy.cfg go on to the next stage? promote.sh FILE NAMESPACE [SECRET]
# 0: all HAProxies of the stage with that Secret run exactly this file, verified. 1: they do not, and why.
set -eu
file=$1 namespace=$2 secret=${3:-haproxy-config}

note() {
    printf '%s' "{.metadata.annotations.haproxy\\.operator/$1}"
}

expected=$(sha256sum "$file")
expected=${expected%% *}
said=$(kubectl -n "$namespace" get secret "$secret" -o "jsonpath=$(note last-applied-hash) $(note status) $(note status-message)")
case $said in
"$expected Applied "*)
    echo "$namespace runs $file ($expected)"
    ;;
*)
    echo "$namespace does not run $file ($expected); the Secret $secret says: $said" >&2
    exit 1
    ;;
esac
