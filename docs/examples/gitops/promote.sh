#!/bin/sh
# May a haproxy.cfg go on to the next stage? promote.sh FILE NAMESPACE [CONFIGMAP]
# The ConfigMap is that of CONFIG_REPORT_CONFIGMAP. 0: all HAProxies of the stage run exactly this file, verified. 1: they do not,
# and why.
set -eu
file=$1 namespace=$2 report=${3:-haproxy-config-status}

expected=$(sha256sum "$file")
expected=${expected%% *}
said=$(kubectl -n "$namespace" get configmap "$report" -o 'jsonpath={.data.last-applied-hash} {.data.status} {.data.status-message}')
case $said in
"$expected Applied "*)
    echo "$namespace runs $file ($expected)"
    ;;
*)
    echo "$namespace does not run $file ($expected); the ConfigMap $report says: $said" >&2
    exit 1
    ;;
esac
