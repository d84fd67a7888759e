{{/* The pods of the Deployment, and of the Job that gives the backends up. */}}
{{- define "haproxy-k8s-sync.podTemplate" -}}
{{- $credentials := include "haproxy-k8s-sync.credentials" . | fromYaml }}
{{- $tls := include "haproxy-k8s-sync.tls" . | fromYaml }}
{{- $etcd := include "haproxy-k8s-sync.etcdFiles" . | fromYamlArray }}
{{- $spiffe := eq (toString .Values.spiffe.enabled) "true" }}
{{- $elected := include "haproxy-k8s-sync.leaderElection" . }}
metadata:
  labels:
    {{- include "haproxy-k8s-sync.selectorLabels" . | nindent 4 }}
    {{- with .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # What is read once, at the start. Credentials and certificates are read again when they change and need no restart.
    checksum/config: {{ include "haproxy-k8s-sync.settings" . | sha256sum }}
    {{- with include "haproxy-k8s-sync.ownCredentialURLs" . }}
    checksum/credential-urls: {{ . | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- with include "haproxy-k8s-sync.imagePullSecrets" . | fromYamlArray }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  serviceAccountName: {{ include "haproxy-k8s-sync.serviceAccountName" . }}
  {{- $asks := or (include "haproxy-k8s-sync.managesServers" .) (include "haproxy-k8s-sync.configNamespace" .) $elected (has .Values.config.source (list "template" "services")) }}
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
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if or .Values.initContainers .Values.sidecar.enabled }}
  initContainers:
    {{- if .Values.sidecar.enabled }}
    {{- include "haproxy-k8s-sync.sidecarBegin" . | trim | nindent 4 }}
    {{- end }}
    {{- with .Values.initContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  containers:
    {{- if .Values.sidecar.enabled }}
    {{- include "haproxy-k8s-sync.sidecarHAProxy" . | trim | nindent 4 }}
    {{- end }}
    - name: haproxy-k8s-sync
      {{- if .Values.sidecar.enabled }}
      # HAProxy's: it has the haproxy -c that checks each change. The program comes with its own libraries.
      image: {{ include "haproxy-k8s-sync.fromRegistry" (list . .Values.sidecar.image) | quote }}
      {{- with .Values.sidecar.pullPolicy }}
      imagePullPolicy: {{ . }}
      {{- end }}
      {{- else }}
      image: {{ include "haproxy-k8s-sync.image" . | quote }}
      {{- with .Values.image.pullPolicy }}
      imagePullPolicy: {{ . }}
      {{- end }}
      {{- end }}
      command: {{ include "haproxy-k8s-sync.command" . }}
      {{- with .Values.args }}
      args: {{ toJson . }}
      {{- end }}
      envFrom:
        - configMapRef:
            name: {{ include "haproxy-k8s-sync.fullname" . }}
        {{- with .Values.extraEnvFrom }}
        {{- toYaml . | nindent 8 }}
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
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      ports:
        - name: http
          containerPort: {{ include "haproxy-k8s-sync.port" . }}
        {{- range $name, $of := pick .Values "metrics" "probes" }}
        {{- with dig "port" "" (default dict $of) }}
        - name: {{ $name }}
          containerPort: {{ . }}
        {{- end }}
        {{- end }}
      {{- include "haproxy-k8s-sync.probe" (list . "livenessProbe") | nindent 6 }}
      {{- if not .Values.sidecar.enabled }}
      {{- /* HAProxy in the pod serves on while the daemon is not ready; what the pod's readiness is, its own probe says. */}}
      {{- include "haproxy-k8s-sync.probe" (list . "readinessProbe") | nindent 6 }}
      {{- end }}
      {{- include "haproxy-k8s-sync.probe" (list . "startupProbe") | nindent 6 }}
      {{- with include "haproxy-k8s-sync.resources" . | fromYaml }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
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
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
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
          {{- toYaml $tls.sources | nindent 10 }}
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
    {{- include "haproxy-k8s-sync.sidecarVolumes" . | trim | nindent 4 }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
