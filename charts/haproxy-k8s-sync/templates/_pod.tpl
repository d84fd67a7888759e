{{/* One probe of the container; called with the release and the probe's name. Nothing where it is not enabled. */}}
{{- define "haproxy-k8s-sync.probe" -}}
{{- $release := index . 0 }}
{{- $name := index . 1 }}
{{- $probe := get $release.Values $name | default dict }}
{{- if $probe.enabled -}}
{{ $name }}:
  httpGet:
    path: {{ $probe.path }}
    port: http
    {{- with include "haproxy-k8s-sync.listenHost" $release }}
    host: {{ . | quote }}
    {{- end }}
  {{- with omit $probe "enabled" "path" }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The one address that is listened on, where it is only one. Without brackets, as a probe wants it. */}}
{{- define "haproxy-k8s-sync.listenHost" -}}
{{- $host := regexReplaceAll ":[0-9]+$" (default "" .Values.env.listenAddress) "" | trimPrefix "[" | trimSuffix "]" }}
{{- if not (has $host (list "" "0.0.0.0" "::")) -}}
{{ $host }}
{{- end }}
{{- end }}

{{/*
The URLs that have a line in credentials.file, one a line: which have one is settled at the daemon's start, so a change there needs a
restart. What stands behind them does not.
*/}}
{{- define "haproxy-k8s-sync.ownCredentialURLs" -}}
{{- range splitList "\n" (default "" .Values.credentials.file) }}
{{- with trim . }}
{{- if not (hasPrefix "#" .) }}
{{ regexFind "^[^[:space:]]+" . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
