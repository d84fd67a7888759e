{{/* The chart's name, or nameOverride: app.kubernetes.io/name. */}}
{{- define "haproxy-k8s-sync.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
What every object of the release is called, or begins with. At most 63 characters and no dot, so that a Service may be called
like that; a release's name has at most 53, so what is cut off is never a part of it.
*/}}
{{- define "haproxy-k8s-sync.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $full := printf "%s-%s" .Release.Name $name }}
{{- if .Values.fullnameOverride }}
{{- $full = .Values.fullnameOverride }}
{{- else if contains $name .Release.Name }}
{{- $full = .Release.Name }}
{{- end }}
{{- $full | replace "." "-" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/*
What is outside of the release's namespace has that namespace in its name: releases of one name in several namespaces share neither
a ClusterRole nor a Role in the namespace of an ingress Service. No namespace and no fullname has a colon, so no two are alike.
*/}}
{{- define "haproxy-k8s-sync.nameElsewhere" -}}
{{- printf "%s:%s" (include "haproxy-k8s-sync.namespace" .) (include "haproxy-k8s-sync.fullname" .) }}
{{- end }}

{{/* Where the release's objects are. */}}
{{- define "haproxy-k8s-sync.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "haproxy-k8s-sync.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* For every object. */}}
{{- define "haproxy-k8s-sync.labels" -}}
helm.sh/chart: {{ include "haproxy-k8s-sync.chart" . }}
{{ include "haproxy-k8s-sync.selectorLabels" . }}
{{- with .Chart.AppVersion }}
app.kubernetes.io/version: {{ . | quote }}
{{- end }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
In an object's metadata: commonAnnotations, and its own, which go before them; called with the release and its own. Nothing where there are none.
Pods do not get commonAnnotations, so that a change there restarts none.
*/}}
{{- define "haproxy-k8s-sync.annotations" -}}
{{- with merge (dict) (default dict (index . 1)) (default dict (index . 0).Values.commonAnnotations) }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* Of the pods; a Deployment's selector cannot be changed later, so nothing is ever added here. */}}
{{- define "haproxy-k8s-sync.selectorLabels" -}}
app.kubernetes.io/name: {{ include "haproxy-k8s-sync.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "haproxy-k8s-sync.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "haproxy-k8s-sync.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/*
A YAML list of the entries of env.ingressServices, `namespace/service[:port][=backend]`. It may be one string as the daemon takes
it, or a list of such strings and of {namespace, service, port, backend}.
*/}}
{{- define "haproxy-k8s-sync.ingressServices" -}}
{{- $entries := list }}
{{- $given := .Values.env.ingressServices }}
{{- if kindIs "string" $given }}
{{- $given = regexSplit "[,[:space:]]+" $given -1 }}
{{- end }}
{{- range compact (default list $given) }}
{{- if kindIs "string" . }}
{{- $entries = append $entries . }}
{{- else }}
{{- $port := empty .port | ternary "" (printf ":%v" .port) }}
{{- $backend := empty .backend | ternary "" (printf "=%v" .backend) }}
{{- $entries = append $entries (printf "%s/%s%s%s" .namespace .service $port $backend) }}
{{- end }}
{{- end }}
{{- toYaml $entries }}
{{- end }}

{{/* "true" or nothing: beside a whole configuration, servers are managed only where a Service or backend is named. */}}
{{- define "haproxy-k8s-sync.managesServers" -}}
{{- $env := .Values.env }}
{{- if or (not .Values.config.source) $env.ingressNamespace $env.ingressServiceName $env.ingressServicePort $env.ingressServices $env.haproxy.backendName -}}
true
{{- end }}
{{- end }}

{{/* "true" or nothing: a whole configuration is made of annotated Services. */}}
{{- define "haproxy-k8s-sync.annotated" -}}
{{- if eq (default "" .Values.config.source) "services" -}}
true
{{- end }}
{{- end }}

{{/* "true" or nothing: it is published in etcd, and there is no HAProxy to write to. */}}
{{- define "haproxy-k8s-sync.publishes" -}}
{{- if eq (default "" .Values.config.target) "etcd" -}}
true
{{- end }}
{{- end }}

{{/* "true" or nothing: a volume with a haproxy.cfg, or what stands before the annotated Services. */}}
{{- define "haproxy-k8s-sync.configVolume" -}}
{{- $source := default "" .Values.config.source }}
{{- if or (eq $source "file") (and (eq $source "services") (or .Values.config.file.configMap .Values.config.file.volume)) -}}
true
{{- end }}
{{- end }}

{{/* A YAML list of the namespaces whose Secrets their annotations may name; "*": all. */}}
{{- define "haproxy-k8s-sync.annotatedSecrets" -}}
{{- include "haproxy-k8s-sync.annotated" . | empty | ternary list (concat (default list .Values.annotatedServices.secretNamespaces) (default list .Values.annotatedServices.secretsOf) | uniq | sortAlpha) | toYaml }}
{{- end }}

{{/* Of the Secret that a whole configuration comes from; nothing where there is none. */}}
{{- define "haproxy-k8s-sync.configNamespace" -}}
{{- if eq (default "" .Values.config.source) "secret" -}}
{{- default (include "haproxy-k8s-sync.namespace" .) .Values.config.secret.namespace }}
{{- end }}
{{- end }}

{{/* The same of the ConfigMap with a template set, or of the objects of templates over pods. */}}
{{- define "haproxy-k8s-sync.templatesNamespace" -}}
{{- if eq (default "" .Values.config.source) "template" -}}
{{- if .Values.templates.configMap.name -}}
{{- default (include "haproxy-k8s-sync.namespace" .) .Values.templates.configMap.namespace }}
{{- else -}}
{{- .Values.templates.pods.namespace }}
{{- end }}
{{- end }}
{{- end }}

{{/* What templates watch, {everywhere: rules, namespaces: {name: rules}}. */}}
{{- define "haproxy-k8s-sync.templatesRules" -}}
{{- $everywhere := list }}
{{- $namespaces := dict }}
{{- if eq (default "" .Values.config.source) "template" }}
{{- $watch := .Values.templates.watch }}
{{- with .Values.templates.pods }}
{{- if .namespace }}
{{- $watch = append (default list $watch) (dict "resources" (list "pods") "namespaces" .namespaces) }}
{{- end }}
{{- end }}
{{- range $watch }}
{{- $rule := dict "apiGroups" (list (default "" .apiGroup)) "resources" .resources "verbs" (list "list" "watch") }}
{{- if not .namespaces }}
{{- $everywhere = append $everywhere $rule }}
{{- end }}
{{- range .namespaces }}
{{- $_ := set $namespaces . (append (default list (get $namespaces .)) $rule) }}
{{- end }}
{{- end }}
{{- with .Values.templates.targetsNamespace }}
{{- $rule := dict "apiGroups" (list "") "resources" (list "pods") "verbs" (list "list" "watch") }}
{{- $_ := set $namespaces . (append (default list (get $namespaces .)) $rule) }}
{{- end }}
{{- end }}
{{- dict "everywhere" $everywhere "namespaces" $namespaces | toYaml }}
{{- end }}

{{/* The namespaces of all Services, each once: a YAML list. The daemon's own default is ingress-nginx, too. */}}
{{- define "haproxy-k8s-sync.ingressNamespaces" -}}
{{- $namespaces := list }}
{{- range include "haproxy-k8s-sync.ingressServices" . | fromYamlArray }}
{{- $namespaces = append $namespaces (splitList "/" . | first) }}
{{- end }}
{{- default (list (default "ingress-nginx" .Values.env.ingressNamespace)) $namespaces | uniq | toYaml }}
{{- end }}

{{/* The namespace of the Service; of several, the first one's. */}}
{{- define "haproxy-k8s-sync.ingressNamespace" -}}
{{- include "haproxy-k8s-sync.ingressNamespaces" . | fromYamlArray | first }}
{{- end }}

{{/* An image from global.imageRegistry, where its own name begins with no registry; called with the release and the name. */}}
{{- define "haproxy-k8s-sync.fromRegistry" -}}
{{- $registry := dig "imageRegistry" "" (default dict (index . 0).Values.global) }}
{{- $image := index . 1 }}
{{- if and $registry (not (regexMatch "^([^/]*[.:][^/]*|localhost)/" $image)) -}}
{{ trimSuffix "/" $registry }}/
{{- end }}
{{- $image }}
{{- end }}

{{/* A digest pins what a tag only names. */}}
{{- define "haproxy-k8s-sync.image" -}}
{{- $image := printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- if .Values.image.registry }}
{{- $image = printf "%s/%s" (trimSuffix "/" .Values.image.registry) $image }}
{{- else }}
{{- $image = include "haproxy-k8s-sync.fromRegistry" (list . $image) }}
{{- end }}
{{- if .Values.image.digest }}
{{- $image = printf "%s@%s" $image .Values.image.digest }}
{{- end }}
{{- $image }}
{{- end }}

{{/* A YAML list of those of global and of the release, given as names or as {name: ...}: each once. */}}
{{- define "haproxy-k8s-sync.imagePullSecrets" -}}
{{- $secrets := list }}
{{- range concat (default list (dig "imagePullSecrets" list (default dict .Values.global))) (default list .Values.imagePullSecrets) }}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) }}
{{- end }}
{{- uniq $secrets | toYaml }}
{{- end }}

{{/* The words that start the daemon. Named, so that another program's image does not run in its place. */}}
{{- define "haproxy-k8s-sync.command" -}}
{{- if .Values.command }}
{{- toJson .Values.command }}
{{- else if .Values.sidecar.enabled }}
{{- include "haproxy-k8s-sync.sidecarProgram" . }}
{{- else -}}
[/usr/bin/haproxy-k8s-sync]
{{- end }}
{{- end }}

{{/* The port of LISTEN_ADDRESS. In the pod it is called `http`. */}}
{{- define "haproxy-k8s-sync.port" -}}
{{- regexFind "[0-9]+$" (default ":8080" .Values.env.listenAddress) }}
{{- end }}
