{{/* HAProxy in the same pod: what is there before the two begin. */}}
{{- define "haproxy-k8s-sync.sidecarBegin" -}}
# The program with its libraries, for a container of another image.
- name: program
  image: {{ include "haproxy-k8s-sync.image" . | quote }}
  {{- with .Values.image.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  command: [/usr/bin/haproxy-k8s-sync, copy-to, /opt/haproxy-k8s-sync]
  {{- with .Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: haproxy-k8s-sync
      mountPath: /opt/haproxy-k8s-sync
# What HAProxy begins with; the file in the pod is the daemon's from then on, also over a restart of this.
- name: haproxy-cfg
  image: {{ include "haproxy-k8s-sync.fromRegistry" (list . .Values.sidecar.image) | quote }}
  {{- with .Values.sidecar.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  command:
    - sh
    - -ec
    - |
      [ -e /etc/haproxy/haproxy.cfg ] && exit
      cp {{ include "haproxy-k8s-sync.sidecarFirst" . }} /etc/haproxy/.first
      chmod 640 /etc/haproxy/.first
      mv /etc/haproxy/.first /etc/haproxy/haproxy.cfg
  {{- with .Values.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: {{ include "haproxy-k8s-sync.sidecarFirstVolume" . }}
      mountPath: /first
      readOnly: true
    - name: haproxy
      mountPath: /etc/haproxy
{{- end }}

{{- define "haproxy-k8s-sync.sidecarHAProxy" -}}
- name: haproxy
  image: {{ include "haproxy-k8s-sync.fromRegistry" (list . .Values.sidecar.image) | quote }}
  {{- with .Values.sidecar.pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  # Master and workers in the foreground, and the socket by which the daemon has them reload.
  command: [haproxy, -W, -db, -S, "/run/haproxy/master.sock,mode,660", -f, /etc/haproxy/haproxy.cfg]
  {{- with .Values.sidecar.extraArgs }}
  args:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.ports }}
  ports:
    {{- range . }}
    - {{ omit . "servicePort" | toJson }}
    {{- end }}
  {{- end }}
  {{- with .Values.sidecar.livenessProbe }}
  livenessProbe:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.readinessProbe }}
  readinessProbe:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.sidecar.securityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - name: haproxy
      mountPath: /etc/haproxy
      readOnly: true
    - name: haproxy-run
      mountPath: /run/haproxy
    {{- with .Values.sidecar.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{- define "haproxy-k8s-sync.sidecarVolumes" -}}
{{- if eq (include "haproxy-k8s-sync.sidecarFirstVolume" .) "first" -}}
- name: first
  {{- if .Values.sidecar.configMap }}
  configMap:
    name: {{ .Values.sidecar.configMap }}
  {{- else }}
  secret:
    secretName: {{ .Values.config.secret.name }}
    defaultMode: 0440
    items:
      - key: {{ .Values.config.secret.key }}
        path: {{ .Values.config.secret.key }}
  {{- end }}
{{- end }}
- name: haproxy-k8s-sync
  emptyDir: {}
# HAProxy's own file, and the files beside it that it is checked as.
- name: haproxy
  emptyDir:
    sizeLimit: 512Mi
- name: haproxy-run
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
{{- end }}

{{/* Where the first haproxy.cfg is: in a volume of its own, or in that of config.source: file. */}}
{{- define "haproxy-k8s-sync.sidecarFirstVolume" -}}
{{- if or .Values.sidecar.configMap (ne (default "" .Values.config.source) "file") -}}
first
{{- else -}}
{{ default "config" .Values.config.file.volume }}
{{- end }}
{{- end }}

{{- define "haproxy-k8s-sync.sidecarFirst" -}}
{{- if .Values.sidecar.configMap -}}
/first/{{ default "haproxy.cfg" .Values.sidecar.key }}
{{- else if eq (default "" .Values.config.source) "file" -}}
/first/{{ default "haproxy.cfg" .Values.config.file.path }}
{{- else -}}
/first/{{ .Values.config.secret.key }}
{{- end }}
{{- end }}

{{/* As a list of words. */}}
{{- define "haproxy-k8s-sync.sidecarProgram" -}}
[/opt/haproxy-k8s-sync/ld.so, --library-path, /opt/haproxy-k8s-sync, /opt/haproxy-k8s-sync/haproxy-k8s-sync]
{{- end }}

{{/*
The daemon's. The default does not do for the largest haproxy.cfg and files that are accepted, nor for the sidecar's haproxy -c. Where a
request alone is given, which is more than that, the limit is the request: no pod has a limit below it.
*/}}
{{- define "haproxy-k8s-sync.resources" -}}
{{- $resources := deepCopy (default dict .Values.resources) }}
{{- if eq (toString (dig "limits" "memory" "" $resources)) "64Mi" }}
{{- $source := not (empty .Values.config.source) }}
{{- $_ := set $resources.limits "memory" (.Values.sidecar.enabled | ternary ($source | ternary "1Gi" "256Mi") ($source | ternary "512Mi" "64Mi")) }}
{{- end }}
{{- $request := dig "requests" "memory" "" $resources }}
{{- $limit := dig "limits" "memory" "" $resources }}
{{- if and $request $limit (eq (toString (dig "limits" "memory" "" .Values.resources)) "64Mi") (gt (include "haproxy-k8s-sync.bytes" $request | float64) (include "haproxy-k8s-sync.bytes" $limit | float64)) }}
{{- $_ := set $resources.limits "memory" $request }}
{{- end }}
{{- toYaml $resources }}
{{- end }}

{{/* A quantity of memory as a number of bytes; what is none is 0, and the API server's to refuse. */}}
{{- define "haproxy-k8s-sync.bytes" -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 }}
{{- $text := toString . }}
{{- mulf (regexFind "^[0-9.]+" $text | float64) (get $units (regexFind "[a-zA-Z]*$" $text) | float64) }}
{{- end }}

{{- define "haproxy-k8s-sync.validateSidecar" -}}
{{- $problems := list }}
{{- if .Values.sidecar.enabled }}
{{- $source := default "" .Values.config.source }}
{{- $elsewhere := and (eq $source "secret") (ne (include "haproxy-k8s-sync.configNamespace" .) (include "haproxy-k8s-sync.namespace" .)) }}
{{- if and (not .Values.sidecar.configMap) (or (has $source (list "" "template" "services")) $elsewhere) }}
{{- $problems = append $problems "sidecar.configMap is empty: set it to a ConfigMap with the haproxy.cfg that HAProxy starts with" }}
{{- end }}
{{- $urls := .Values.env.haproxy.dataplaneURL }}
{{- if not (has (toString $urls) (list "" "<nil>" "[]" "http://haproxy:5555")) }}
{{- $problems = append $problems "sidecar.enabled is true beside env.haproxy.dataplaneURL: the HAProxy in the pod has no Data Plane API; set one of them" }}
{{- end }}
{{- with .Values }}
{{- if or (include "haproxy-k8s-sync.ownCredentials" $) (include "haproxy-k8s-sync.ownTLS" $) .credentials.existingSecret .tls.existingSecret .tls.caSecret .tls.caConfigMap }}
{{- $problems = append $problems "sidecar.enabled is true beside credentials or certificates of a Data Plane API (env.haproxy.username, credentials, tls), which the HAProxy in the pod does not have: leave them out" }}
{{- end }}
{{- end }}
{{- if eq (toString .Values.leaderElection.enabled) "true" }}
{{- $problems = append $problems "leaderElection.enabled is true beside sidecar.enabled: each replica has a HAProxy of its own, and all of them have to write; leave it out" }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
{{- $problems = append $problems "networkPolicy.enabled is true beside sidecar.enabled: the policy allows what the daemon needs, not the clients and servers of HAProxy; apply one of your own" }}
{{- end }}
{{- $ours := list (include "haproxy-k8s-sync.port" .) }}
{{- range $name, $of := pick .Values "metrics" "probes" }}
{{- $ours = append $ours (toString (dig "port" "" (default dict $of))) }}
{{- end }}
{{- range .Values.sidecar.ports }}
{{- if has .name (list "http" "metrics" "probes") }}
{{- $problems = append $problems (printf "sidecar.ports: %s is what a port of the daemon is called, in the same pod: call it otherwise" .name) }}
{{- end }}
{{- if has (toString .containerPort) $ours }}
{{- $problems = append $problems (printf "sidecar.ports: %v is the daemon's own, in the same pod: set env.listenAddress to another" .containerPort) }}
{{- end }}
{{- end }}
{{- else if .Values.sidecar.configMap }}
{{- $problems = append $problems "sidecar.configMap is set, but sidecar.enabled is not: there is no HAProxy in the pod" }}
{{- end }}
{{- toYaml $problems }}
{{- end }}
