{{/*
The daemon's settings as NAME: "value", those alone that are set. Credentials and what depends on mounted files are not among them:
deployment.yaml names those files.
*/}}
{{- define "haproxy-k8s-sync.settings" -}}
{{- $env := .Values.env }}
{{- $haproxy := $env.haproxy }}
{{- $services := include "haproxy-k8s-sync.ingressServices" . | fromYamlArray }}
{{- /* A value is called after its variable: parkTTL is PARK_TTL, haproxy.sendProxyV2 is HAPROXY_SEND_PROXY_V2. The others: */}}
{{- $settings := dict
  "INGRESS_SERVICES" $services
  "ADOPT_SERVERS" (ternary "no" $env.adoptServers (eq (toString $env.adoptServers) "false"))
  "HAPROXY_DATAPLANE_URL" (include "haproxy-k8s-sync.dataplaneURLs" . | fromYamlArray)
}}
{{- $servers := include "haproxy-k8s-sync.managesServers" . }}
{{- $config := .Values.config }}
{{- if not $servers }}
{{- /* What has no effect without servers is left out; the daemon refuses some of it. */}}
{{- $settings = pick $settings "HAPROXY_DATAPLANE_URL" }}
{{- $kept := list "dryRun" "resyncPeriod" "emitEvents" "statusPage" "logFormat" "logLevel" "listenAddress" "seccomp" }}
{{- if include "haproxy-k8s-sync.annotated" . }}
{{- $kept = concat $kept (list "nodeSelector" "nodeExcludeLabel" "nodeAddressTypes" "ipFamily" "allowEmpty") }}
{{- end }}
{{- $picked := dict }}
{{- range $kept }}
{{- $_ := set $picked . (get $env .) }}
{{- end }}
{{- $env = $picked }}
{{- $haproxy = pick $haproxy "dataplaneServerName" "dataplaneInsecure" }}
{{- else if $config.source }}
{{- $haproxy = omit $haproxy "balance" "advCheck" "sendProxyV2" }}
{{- end }}
{{- if .Values.sidecar.enabled }}
{{- $settings = omit $settings "HAPROXY_DATAPLANE_URL" }}
{{- $haproxy = omit $haproxy "dataplaneServerName" "dataplaneInsecure" }}
{{- $_ := set $settings "HAPROXY_CONFIG_FILE" "/etc/haproxy/haproxy.cfg" }}
{{- $_ := set $settings "HAPROXY_MASTER_SOCKET" "/run/haproxy/master.sock" }}
{{- end }}
{{- if include "haproxy-k8s-sync.publishes" . }}
{{- $settings = omit $settings "HAPROXY_DATAPLANE_URL" }}
{{- $haproxy = dict }}
{{- range $name, $value := pick .Values.etcd "endpoints" "path" "name" "user" }}
{{- $_ := set $settings (upper $name | printf "ETCD_%s") $value }}
{{- end }}
{{- $_ := set $settings "CLUSTER_NAME" (default .Values.env.clusterName .Values.annotatedServices.clusterName) }}
{{- end }}
{{- if and (eq (default "" $config.source) "template") .Values.templates.targetsNamespace }}
{{- $settings = omit $settings "HAPROXY_DATAPLANE_URL" }}
{{- end }}
{{- range $name, $value := omit $env "ingressNamespace" "ingressServiceName" "ingressServicePort" "ingressServices" "adoptServers" "haproxy" }}
{{- $_ := set $settings (snakecase $name | upper) $value }}
{{- end }}
{{- range $name, $value := omit $haproxy "dataplaneURL" "username" "password" "token" "backendPort" }}
{{- $_ := set $settings (snakecase $name | upper | printf "HAPROXY_%s") $value }}
{{- end }}
{{- if $config.source }}
{{- range $name, $value := omit $config "secret" "file" "stateClaim" "report" "reportConfigmap" }}
{{- $_ := set $settings (snakecase $name | upper | printf "CONFIG_%s") $value }}
{{- end }}
{{- if eq $config.source "file" }}
{{- $folder := "/etc/haproxy-k8s-sync/config" }}
{{- $_ := set $settings "CONFIG_FILE" (printf "%s/%s" $folder (default "haproxy.cfg" $config.file.path)) }}
{{- with $config.file.filesDir }}
{{- $_ := set $settings "CONFIG_FILES_DIR" (printf "%s/%s" $folder . | clean) }}
{{- end }}
{{- else if eq $config.source "services" }}
{{- $settings = omit $settings "CONFIG_CERTS_SECRETS" }}
{{- if include "haproxy-k8s-sync.configVolume" . }}
{{- $_ := set $settings "CONFIG_FILE" (printf "/etc/haproxy-k8s-sync/config/%s" (default "haproxy.cfg" $config.file.path)) }}
{{- end }}
{{- range $name, $value := omit .Values.annotatedServices "annotationPrefix" "clusterName" "foreignProtection" "hostOwnership" "secretsOf" "sharedHosts" "trustedProxies" }}
{{- $_ := set $settings (snakecase $name | upper | printf "SERVICES_%s") $value }}
{{- end }}
{{- range $name, $value := pick .Values.annotatedServices "foreignProtection" "hostOwnership" "sharedHosts" "trustedProxies" }}
{{- $_ := set $settings (snakecase $name | upper) $value }}
{{- end }}
{{- $_ := set $settings "ANNOTATION_PREFIX" .Values.annotatedServices.annotationPrefix }}
{{- $_ := set $settings "CLUSTER_NAME" (default .Values.env.clusterName .Values.annotatedServices.clusterName) }}
{{- else if eq $config.source "template" }}
{{- $settings = omit $settings "CONFIG_CERTS_SECRETS" }}
{{- with .Values.templates }}
{{- if .volume }}
{{- $_ := set $settings "TEMPLATE_FROM" (printf "file:%s" (printf "/etc/haproxy-k8s-sync/templates/%s" (default "." .path) | clean)) }}
{{- else if .pods.namespace }}
{{- $_ := set $settings "TEMPLATE_FROM" (printf "pods:%s" .pods.namespace) }}
{{- else }}
{{- $_ := set $settings "TEMPLATE_FROM" (printf "configmap:%s/%s" (default (include "haproxy-k8s-sync.namespace" $) .configMap.namespace) .configMap.name) }}
{{- end }}
{{- $_ := set $settings "TEMPLATE_TIMEOUT" .timeout }}
{{- end }}
{{- else }}
{{- $_ := set $settings "CONFIG_SECRET_NAMESPACE" (include "haproxy-k8s-sync.configNamespace" .) }}
{{- $_ := set $settings "CONFIG_SECRET_NAME" $config.secret.name }}
{{- $_ := set $settings "CONFIG_SECRET_KEY" $config.secret.key }}
{{- $_ := set $settings "CONFIG_REPORT" $config.report }}
{{- $_ := set $settings "CONFIG_REPORT_CONFIGMAP" $config.reportConfigmap }}
{{- end }}
{{- $_ := set $settings "STATE_DIR" "/var/lib/haproxy-k8s-sync" }}
{{- end }}
{{- if and $servers (not $services) }}
{{- $_ := set $settings "INGRESS_NAMESPACE" (include "haproxy-k8s-sync.ingressNamespace" .) }}
{{- $_ := set $settings "INGRESS_SERVICE_NAME" (default "ingress-nginx" $env.ingressServiceName) }}
{{- $_ := set $settings "INGRESS_SERVICE_PORT" $env.ingressServicePort }}
{{- end }}
{{- range $name, $of := dict "METRICS_ADDRESS" .Values.metrics "PROBE_ADDRESS" .Values.probes }}
{{- with dig "port" "" (default dict $of) }}
{{- $_ := set $settings $name (printf ":%v" .) }}
{{- end }}
{{- end }}
{{- if eq (toString .Values.spiffe.enabled) "true" }}
{{- $_ := set $settings "SPIRE_AGENT_SOCKET" (printf "/run/spiffe/%s" .Values.spiffe.socket) }}
{{- $_ := set $settings "SPIFFE_PEER_ID" .Values.spiffe.peerID }}
{{- end }}
{{- if include "haproxy-k8s-sync.backendPort" . }}
{{- with $haproxy.backendPort }}
{{- $_ := set $settings "HAPROXY_BACKEND_PORT" . }}
{{- end }}
{{- end }}
{{- if include "haproxy-k8s-sync.leaderElection" . }}
{{- $_ := set $settings "LEADER_ELECT" true }}
{{- $_ := set $settings "LEASE_NAME" (include "haproxy-k8s-sync.leaseName" .) }}
{{- $_ := set $settings "LEASE_NAMESPACE" (include "haproxy-k8s-sync.leaseNamespace" .) }}
{{- end }}
{{- if include "haproxy-k8s-sync.hostOwnersNamespace" . }}
{{- $_ := set $settings "HOST_OWNERS_CONFIGMAP" (include "haproxy-k8s-sync.hostOwners" .) }}
{{- end }}
{{- range $name, $value := $settings }}
{{- if kindIs "slice" $value }}
{{- $value = join "," $value }}
{{- end }}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "")) }}
{{ $name }}: {{ toString $value | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/*
A YAML list of the URLs as the daemon has them: the scheme in lower case, the port always given, without the path that it adds itself.
*/}}
{{- define "haproxy-k8s-sync.dataplaneURLs" -}}
{{- $given := .Values.env.haproxy.dataplaneURL }}
{{- if not (kindIs "slice" $given) }}
{{- $given = regexSplit "[,[:space:]]+" (toString (default "" $given)) -1 }}
{{- end }}
{{- $urls := list }}
{{- range compact (default list $given) }}
{{- $url := . }}
{{- with regexFind "^[hH][tT][tT][pP][sS]?://" . }}
{{- $scheme := lower . }}
{{- $rest := trimPrefix . $url }}
{{- $host := regexFind "^[^/]*" $rest }}
{{- $path := trimPrefix $host $rest | trimSuffix "/" | trimSuffix "/v3" }}
{{- $port := regexMatch ":[0-9]+$" $host | ternary "" (eq $scheme "https://" | ternary ":443" ":80") }}
{{- $url = print $scheme $host $port $path }}
{{- end }}
{{- $urls = append $urls $url }}
{{- end }}
{{- toYaml $urls }}
{{- end }}

{{/* Nothing where the daemon finds the port by itself: 0 is as good as none. */}}
{{- define "haproxy-k8s-sync.backendPort" -}}
{{- $port := .Values.env.haproxy.backendPort }}
{{- if and $port (ne (toString $port) "0") -}}
{{ $port }}
{{- end }}
{{- end }}

{{/* "true" or nothing. By itself: with more than one replica; a dry run is no candidate for the Lease, nor who has a HAProxy of its own. */}}
{{- define "haproxy-k8s-sync.leaderElection" -}}
{{- $enabled := toString .Values.leaderElection.enabled }}
{{- $wanted := or (eq $enabled "true") (and (ne $enabled "false") (gt (int .Values.replicaCount) 1)) }}
{{- if and $wanted (ne (toString .Values.env.dryRun) "true") (not .Values.sidecar.enabled) -}}
true
{{- end }}
{{- end }}

{{/*
Of the ConfigMap that keeps which namespace has which host name: that of the Lease. Nothing where no host has an owner, where the daemon gets no rights
from here, or where each replica has a HAProxy of its own and what is served there first is its own matter.
*/}}
{{- define "haproxy-k8s-sync.hostOwnersNamespace" -}}
{{- $owned := or (include "haproxy-k8s-sync.annotated" .) (and (include "haproxy-k8s-sync.templatesNamespace" .) (not .Values.templates.pods.namespace)) }}
{{- if and $owned .Values.rbac.create (not .Values.kubeconfig.existingSecret) (not .Values.sidecar.enabled) -}}
{{- include "haproxy-k8s-sync.leaderElection" . | empty | ternary (include "haproxy-k8s-sync.namespace" .) (include "haproxy-k8s-sync.leaseNamespace" .) }}
{{- end }}
{{- end }}

{{- define "haproxy-k8s-sync.hostOwners" -}}
{{- printf "%s-host-owners" (eq (include "haproxy-k8s-sync.hostOwnersNamespace" .) (include "haproxy-k8s-sync.namespace" .) | ternary (include "haproxy-k8s-sync.fullname" .) (include "haproxy-k8s-sync.nameElsewhere" . | replace ":" ".")) }}
{{- end }}

{{/* Elsewhere with the release's namespace in it, and with a dot, which neither of the two has. */}}
{{- define "haproxy-k8s-sync.leaseName" -}}
{{- $name := include "haproxy-k8s-sync.fullname" . }}
{{- if ne (include "haproxy-k8s-sync.leaseNamespace" .) (include "haproxy-k8s-sync.namespace" .) }}
{{- $name = printf "%s.%s" (include "haproxy-k8s-sync.namespace" .) $name }}
{{- end }}
{{- default $name .Values.leaderElection.leaseName }}
{{- end }}

{{- define "haproxy-k8s-sync.leaseNamespace" -}}
{{- default (include "haproxy-k8s-sync.namespace" .) .Values.leaderElection.leaseNamespace }}
{{- end }}

{{/* "true" or nothing: whether the Secret of this release has any such thing. */}}
{{- define "haproxy-k8s-sync.ownCredentials" -}}
{{- $haproxy := .Values.env.haproxy }}
{{- if or $haproxy.username $haproxy.password $haproxy.token .Values.credentials.file -}}
true
{{- end }}
{{- end }}

{{- define "haproxy-k8s-sync.ownTLS" -}}
{{- if or .Values.tls.ca .Values.tls.cert .Values.tls.key -}}
true
{{- end }}
{{- end }}

{{/*
The credentials that the daemon is given, as {secret, files: [{key, path, setting}]}: from which Secret, which key becomes which file,
and the setting that names the file. No files: none.
*/}}
{{- define "haproxy-k8s-sync.credentials" -}}
{{- $files := list }}
{{- $secret := include "haproxy-k8s-sync.fullname" . }}
{{- $keys := dict }}
{{- if .Values.credentials.existingSecret }}
{{- $secret = .Values.credentials.existingSecret }}
{{- $_ := set $keys "token" .Values.credentials.tokenKey }}
{{- if not .Values.credentials.tokenKey }}
{{- $_ := set $keys "username" .Values.credentials.usernameKey }}
{{- $_ := set $keys "password" .Values.credentials.passwordKey }}
{{- end }}
{{- $_ := set $keys "by-url" .Values.credentials.fileKey }}
{{- else }}
{{- range $path, $given := dict "username" .Values.env.haproxy.username "password" .Values.env.haproxy.password "token" .Values.env.haproxy.token "by-url" .Values.credentials.file }}
{{- $_ := set $keys $path (empty $given | ternary "" $path) }}
{{- end }}
{{- end }}
{{- $settings := dict "username" "USERNAME" "password" "PASSWORD" "token" "TOKEN" "by-url" "CREDENTIALS" }}
{{- range $path, $key := $keys }}
{{- if $key }}
{{- $files = append $files (dict "key" $key "path" $path "setting" (printf "HAPROXY_DATAPLANE_%s_FILE" (get $settings $path))) }}
{{- end }}
{{- end }}
{{- dict "secret" $secret "files" $files | toYaml }}
{{- end }}

{{/* The same for TLS: {sources: of a projected volume, files: [{path, setting}]}. */}}
{{- define "haproxy-k8s-sync.tls" -}}
{{- $tls := .Values.tls }}
{{- $own := include "haproxy-k8s-sync.fullname" . }}
{{- $items := list }}
{{- $sources := list }}
{{- $caElsewhere := not (empty (or $tls.caSecret $tls.caConfigMap)) }}
{{- if $tls.existingSecret }}
{{- $own = $tls.existingSecret }}
{{- range $path, $key := dict "ca.crt" ($caElsewhere | ternary "" $tls.caKey) "tls.crt" $tls.certKey "tls.key" $tls.keyKey }}
{{- if $key }}
{{- $items = append $items (dict "key" $key "path" $path) }}
{{- end }}
{{- end }}
{{- else }}
{{- range $path, $pem := dict "ca.crt" $tls.ca "tls.crt" $tls.cert "tls.key" $tls.key }}
{{- if $pem }}
{{- $items = append $items (dict "key" $path "path" $path) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $items }}
{{- $sources = append $sources (dict "secret" (dict "name" $own "items" $items)) }}
{{- end }}
{{- $ca := list (dict "key" $tls.caKey "path" "ca.crt") }}
{{- if $tls.caSecret }}
{{- $sources = append $sources (dict "secret" (dict "name" $tls.caSecret "items" $ca)) }}
{{- else if $tls.caConfigMap }}
{{- $sources = append $sources (dict "configMap" (dict "name" $tls.caConfigMap "items" $ca)) }}
{{- end }}
{{- $paths := list }}
{{- range $sources }}
{{- range get (default .configMap .secret) "items" }}
{{- $paths = append $paths .path }}
{{- end }}
{{- end }}
{{- $files := list }}
{{- $settings := dict "ca.crt" "CA" "tls.crt" "CERT" "tls.key" "KEY" }}
{{- range $paths | sortAlpha }}
{{- $files = append $files (dict "path" . "setting" (printf "HAPROXY_DATAPLANE_%s_FILE" (get $settings .))) }}
{{- end }}
{{- dict "sources" $sources "files" $files | toYaml }}
{{- end }}

{{/* The files for etcd, as for the credentials: which key of etcd.existingSecret becomes which file, and the setting that names it. */}}
{{- define "haproxy-k8s-sync.etcdFiles" -}}
{{- $files := list }}
{{- if include "haproxy-k8s-sync.publishes" . }}
{{- range $path, $of := dict "ca.crt" (list "CA" .Values.etcd.caKey) "password" (list "PASSWORD" .Values.etcd.passwordKey) "tls.crt" (list "CERT" .Values.etcd.certKey) "tls.key" (list "KEY" .Values.etcd.keyKey) }}
{{- with last $of }}
{{- $files = append $files (dict "key" . "path" $path "setting" (first $of | printf "ETCD_%s_FILE")) }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $files }}
{{- end }}
