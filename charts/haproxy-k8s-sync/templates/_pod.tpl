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

{{/* The container's settings: those of the release, the paths of mounted files, and the user's. */}}
{{- define "haproxy-k8s-sync.environment" -}}
{{- $credentials := include "haproxy-k8s-sync.credentials" . | fromYaml }}
{{- $tls := include "haproxy-k8s-sync.tls" . | fromYaml }}
{{- $etcd := include "haproxy-k8s-sync.etcdFiles" . | fromYamlArray }}
envFrom:
  - configMapRef:
      name: {{ include "haproxy-k8s-sync.fullname" . }}
  {{- with .Values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- if or $credentials.files $tls.files $etcd .Values.kubeconfig.existingSecret .Values.extraEnv }}
env:
  {{- range $credentials.files }}
  - name: {{ .setting }}
    value: /etc/haproxy-k8s-sync/credentials/{{ .path }}
  {{- end }}
  {{- range $tls.files }}
  - name: {{ .setting }}
    value: /etc/haproxy-k8s-sync/tls/{{ .path }}
  {{- end }}
  {{- range $etcd }}
  - name: {{ .setting }}
    value: /etc/haproxy-k8s-sync/etcd/{{ .path }}
  {{- end }}
  {{- if .Values.kubeconfig.existingSecret }}
  - name: KUBECONFIG
    value: /etc/haproxy-k8s-sync/kubeconfig/kubeconfig
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* What the container mounts. Nothing where there is nothing. */}}
{{- define "haproxy-k8s-sync.volumeMounts" -}}
{{- $credentials := include "haproxy-k8s-sync.credentials" . | fromYaml }}
{{- $tls := include "haproxy-k8s-sync.tls" . | fromYaml }}
{{- $etcd := include "haproxy-k8s-sync.etcdFiles" . | fromYamlArray }}
{{- $spiffe := eq (toString .Values.spiffe.enabled) "true" }}
{{- if or $credentials.files $tls.files $spiffe .Values.kubeconfig.existingSecret .Values.config.source .Values.sidecar.enabled .Values.extraVolumeMounts }}
# Directories, never subPath: what is rotated in the Secret arrives here.
volumeMounts:
  {{- if $credentials.files }}
  - name: credentials
    mountPath: /etc/haproxy-k8s-sync/credentials
    readOnly: true
  {{- end }}
  {{- if $tls.files }}
  - name: tls
    mountPath: /etc/haproxy-k8s-sync/tls
    readOnly: true
  {{- end }}
  {{- if $etcd }}
  - name: etcd
    mountPath: /etc/haproxy-k8s-sync/etcd
    readOnly: true
  {{- end }}
  {{- if $spiffe }}
  - name: spiffe
    mountPath: /run/spiffe
    readOnly: true
  {{- end }}
  {{- if .Values.kubeconfig.existingSecret }}
  - name: kubeconfig
    mountPath: /etc/haproxy-k8s-sync/kubeconfig
    readOnly: true
  {{- end }}
  {{- if include "haproxy-k8s-sync.configVolume" . }}
  - name: {{ default "config" .Values.config.file.volume }}
    mountPath: /etc/haproxy-k8s-sync/config
    readOnly: true
  {{- end }}
  {{- if and (eq (default "" .Values.config.source) "template") .Values.templates.volume }}
  - name: {{ .Values.templates.volume }}
    mountPath: /etc/haproxy-k8s-sync/templates
    readOnly: true
  {{- end }}
  {{- if .Values.config.source }}
  - name: state
    mountPath: /var/lib/haproxy-k8s-sync
  {{- end }}
  {{- if .Values.sidecar.enabled }}
  - name: haproxy-k8s-sync
    mountPath: /opt/haproxy-k8s-sync
    readOnly: true
  - name: haproxy
    mountPath: /etc/haproxy
  - name: haproxy-run
    mountPath: /run/haproxy
  {{- with .Values.sidecar.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The volumes of the pod. */}}
{{- define "haproxy-k8s-sync.volumes" -}}
{{- $credentials := include "haproxy-k8s-sync.credentials" . | fromYaml }}
{{- $tls := include "haproxy-k8s-sync.tls" . | fromYaml }}
{{- $etcd := include "haproxy-k8s-sync.etcdFiles" . | fromYamlArray }}
{{- $spiffe := eq (toString .Values.spiffe.enabled) "true" }}
{{- if or $credentials.files $tls.files $spiffe .Values.kubeconfig.existingSecret .Values.config.source .Values.sidecar.enabled .Values.extraVolumes }}
volumes:
  {{- if $credentials.files }}
  - name: credentials
    secret:
      secretName: {{ $credentials.secret }}
      defaultMode: 0440
      items:
        {{- range $credentials.files }}
        - key: {{ .key }}
          path: {{ .path }}
        {{- end }}
  {{- end }}
  {{- if $tls.files }}
  - name: tls
    projected:
      defaultMode: 0440
      sources:
        {{- toYaml $tls.sources | nindent 8 }}
  {{- end }}
  {{- if $etcd }}
  - name: etcd
    secret:
      secretName: {{ .Values.etcd.existingSecret }}
      defaultMode: 0440
      items:
        {{- range $etcd }}
        - key: {{ .key }}
          path: {{ .path }}
        {{- end }}
  {{- end }}
  {{- if $spiffe }}
  # The folder, never the socket: an agent that is started anew makes another one.
  - name: spiffe
    {{- with .Values.spiffe.hostPath }}
    hostPath:
      path: {{ . }}
      type: Directory
    {{- else }}
    csi:
      driver: {{ .Values.spiffe.csiDriver }}
      readOnly: true
    {{- end }}
  {{- end }}
  {{- with .Values.kubeconfig }}
  {{- if .existingSecret }}
  - name: kubeconfig
    secret:
      secretName: {{ .existingSecret }}
      defaultMode: 0440
      items:
        - key: {{ .key }}
          path: kubeconfig
  {{- end }}
  {{- end }}
  {{- with .Values.config }}
  {{- if and (has (default "" .source) (list "file" "services")) .file.configMap }}
  - name: config
    configMap:
      name: {{ .file.configMap }}
  {{- end }}
  {{- if .source }}
  # The last good versions, and what was rejected.
  - name: state
    {{- if .stateClaim }}
    persistentVolumeClaim:
      claimName: {{ .stateClaim }}
    {{- else }}
    emptyDir:
      sizeLimit: 512Mi
    {{- end }}
  {{- end }}
  {{- end }}
  {{- if .Values.sidecar.enabled }}
  {{- include "haproxy-k8s-sync.sidecarVolumes" . | trim | nindent 2 }}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Where the pod may run, and how it reaches what it needs. */}}
{{- define "haproxy-k8s-sync.place" -}}
{{- with include "haproxy-k8s-sync.imagePullSecrets" . | fromYamlArray }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
serviceAccountName: {{ include "haproxy-k8s-sync.serviceAccountName" . }}
{{- $asks := or (include "haproxy-k8s-sync.managesServers" .) (include "haproxy-k8s-sync.configNamespace" .) (include "haproxy-k8s-sync.leaderElection" .) (has .Values.config.source (list "template" "services")) }}
automountServiceAccountToken: {{ and (empty .Values.kubeconfig.existingSecret) (not (empty $asks)) }}
# A Service called haproxy-backend would otherwise inject HAPROXY_BACKEND_PORT=tcp://... into this pod.
enableServiceLinks: false
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .Values.dnsPolicy | default (empty .Values.hostNetwork | ternary "" "ClusterFirstWithHostNet") }}
dnsPolicy: {{ . }}
{{- end }}
{{- with .Values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.runtimeClassName }}
runtimeClassName: {{ . }}
{{- end }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The container's image. HAProxy's in a sidecar: it has the haproxy -c that checks each change, and the program comes with its own libraries. */}}
{{- define "haproxy-k8s-sync.containerImage" -}}
image: {{ (.Values.sidecar.enabled | ternary (include "haproxy-k8s-sync.fromRegistry" (list . .Values.sidecar.image)) (include "haproxy-k8s-sync.image" .)) | quote }}
{{- with .Values.sidecar.enabled | ternary .Values.sidecar.pullPolicy .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{/*
A pod that runs one command and ends, with the image, settings, files and rights of the daemon; called with the release, the container's name
and the arguments. Not for a sidecar, whose HAProxy is in the daemon's own pod.
*/}}
{{- define "haproxy-k8s-sync.once" -}}
{{- $release := index . 0 }}
{{- with $release }}
restartPolicy: Never
{{- include "haproxy-k8s-sync.place" . | nindent 0 }}
containers:
  - name: {{ index $ 1 }}
    {{- include "haproxy-k8s-sync.containerImage" . | nindent 4 }}
    command: {{ include "haproxy-k8s-sync.command" . }}
    args: {{ index $ 2 | toJson }}
    {{- include "haproxy-k8s-sync.environment" . | nindent 4 }}
    {{- with .Values.securityContext }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with include "haproxy-k8s-sync.volumeMounts" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
{{- with include "haproxy-k8s-sync.volumes" . | trim }}
{{- . | nindent 0 }}
{{- end }}
{{- end }}
{{- end }}
