{{/* What no value by itself shows: combinations that cannot work. All of them at once, each with what to do. */}}
{{- define "haproxy-k8s-sync.validate" -}}
{{- $problems := concat
  .Values.operatorProblems
  (include "haproxy-k8s-sync.validateImage" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateTexts" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateDurations" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateServices" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateConfig" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateCredentials" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateTLS" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateSpiffe" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateSidecar" . | fromYamlArray)
  (include "haproxy-k8s-sync.validateEtcd" . | fromYamlArray)
  (include "haproxy-k8s-sync.validatePods" . | fromYamlArray)
  (include "haproxy-k8s-sync.validatePage" . | fromYamlArray) }}
{{- if $problems }}
{{- fail (printf "\n\n%s\n" (join "\n" $problems)) }}
{{- end }}
{{- end }}

{{/* --reuse-values takes the defaults, too, from the chart that was installed: what this one has besides is not there at all. */}}
{{- define "haproxy-k8s-sync.validateReuse" -}}
{{- $missing := list }}
{{- range list "global" "config" "templates" "annotatedServices" "etcd" "sidecar" "credentials" "tls" "spiffe" "leaderElection" "kubeconfig" "podDisruptionBudget" "service" "ingress" "httpRoute" }}
{{- if not (kindIs "map" (get $.Values .)) }}
{{- $missing = append $missing . }}
{{- end }}
{{- end }}
{{- if $missing }}
{{- fail (printf "\n\nthe values lack %s, of which this chart has defaults: helm upgrade --reuse-values takes none of them; use --reset-then-reuse-values or --values\n" (join ", " $missing)) }}
{{- end }}
{{- end }}

{{- define "haproxy-k8s-sync.validateImage" -}}
{{- $problems := list }}
{{- if and (eq (base .Values.image.repository) "k8s-haproxy") (not .Values.command) }}
{{- $problems = append $problems (printf "image.repository is %s, the Go controller's image: set it to the image of haproxy-k8s-sync, and leave image.tag out or set it to that image's" .Values.image.repository) }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{/* YAML keeps the number, not how it was written: 0123 is 83, 1.10 is 1.1, and 12345678 comes out as 1.2345678e+07. */}}
{{- define "haproxy-k8s-sync.validateTexts" -}}
{{- $problems := list }}
{{- range $path, $value := dict "image.tag" .Values.image.tag "env.haproxy.username" .Values.env.haproxy.username "env.haproxy.password" .Values.env.haproxy.password "env.haproxy.token" .Values.env.haproxy.token }}
{{- if not (or (kindIs "string" $value) (kindIs "invalid" $value)) }}
{{- $problems = append $problems (printf "%s is a number: put it in quotes, since YAML takes 0123 for 83 and 1.10 for 1.1; with --set: --set-string" $path) }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validateDurations" -}}
{{- $problems := list }}
{{- $epoch := toDate "2006-01-02" "2000-01-01" }}
{{- range $row := list (list "env.resyncPeriod" .Values.env.resyncPeriod 1 24) (list "env.drainTimeout" .Values.env.drainTimeout 0 24) (list "env.parkTTL" .Values.env.parkTTL 0 720) (list "config.minInterval" .Values.config.minInterval 0 1) (list "config.canaryTime" .Values.config.canaryTime 1 1) (list "templates.timeout" .Values.templates.timeout 0 1) }}
{{- $text := index $row 1 | toString }}
{{- if not (has $text (list "" "<nil>")) }}
{{- $expected := printf "%s is %s: set it to a duration from %ds to %dh" (index $row 0) $text (index $row 2) (index $row 3) }}
{{- if not (regexMatch "^[+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|ms|s|m|h))+)$" $text) }}
{{- $hint := "such as 30s, 1m30s or 2h" }}
{{- if regexMatch "^[0-9]+$" $text }}
{{- $hint = printf "%ss if these are seconds" $text }}
{{- else if regexMatch "^[0-9]+d$" $text }}
{{- $hint = printf "%dh, as there is no unit for days" (trimSuffix "d" $text | int | mul 24) }}
{{- end }}
{{- $problems = append $problems (printf "%s: %s" $expected $hint) }}
{{- else }}
{{- $seconds := sub (mustDateModify $text $epoch | unixEpoch) (unixEpoch $epoch) }}
{{- if or (lt $seconds (index $row 2 | int64)) (gt $seconds (mul 3600 (index $row 3))) }}
{{- $problems = append $problems (printf "%s%s" $expected (eq $seconds 0 | ternary ", as it cannot be switched off" "")) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validatePage" -}}
{{- $problems := list }}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) (not .Values.service.enabled) }}
{{- $problems = append $problems "ingress or httpRoute is enabled, but service.enabled is false: they lead to that Service" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}
{{- $problems = append $problems "ingress.enabled is set, but ingress.hosts is empty: name the host of the status page" }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- $problems = append $problems "httpRoute.enabled is set, but httpRoute.parentRefs is empty: name the Gateway" }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validateServices" -}}
{{- $problems := list }}
{{- $services := include "haproxy-k8s-sync.ingressServices" . | fromYamlArray }}
{{- range $services }}
{{- if not (regexMatch "^[a-z0-9-]+/[a-z0-9-]+(:[^:=/]+)?(=.+)?$" .) }}
{{- $problems = append $problems (printf "env.ingressServices: %q is no namespace/service[:port][=backend]" .) }}
{{- end }}
{{- end }}
{{- if $services }}
{{- $beside := list }}
{{- range $path, $value := dict "env.ingressNamespace" .Values.env.ingressNamespace "env.ingressServiceName" .Values.env.ingressServiceName "env.ingressServicePort" .Values.env.ingressServicePort "env.haproxy.backendName" .Values.env.haproxy.backendName }}
{{- if $value }}
{{- $beside = append $beside $path }}
{{- end }}
{{- end }}
{{- if $beside }}
{{- $problems = append $problems (printf "env.ingressServices is set beside %s: set either the list or the values for one Service" (join ", " $beside)) }}
{{- end }}
{{- if and (gt (len $services) 1) (include "haproxy-k8s-sync.backendPort" .) }}
{{- $problems = append $problems "env.haproxy.backendPort is set, but env.ingressServices has several entries, whose ports come from the Services: leave it out" }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validateConfig" -}}
{{- $problems := list }}
{{- with .Values.config }}
{{- if and (eq (default "" .source) "secret") (not .secret.name) }}
{{- $problems = append $problems "config.source is secret, but config.secret.name is empty: set it to the name of the Secret" }}
{{- end }}
{{- if and (eq (default "" .source) "file") (eq (empty .file.configMap) (empty .file.volume)) }}
{{- $problems = append $problems "config.source is file: set config.file.configMap to a ConfigMap or config.file.volume to one of extraVolumes, not both" }}
{{- end }}
{{- if and (eq (default "" .source) "file") .certsSecrets }}
{{- $problems = append $problems "config.certsSecrets is set, but config.source is file, which needs no Kubernetes: put the certificates into config.file.filesDir" }}
{{- end }}
{{- if and (eq (default "" .source) "services") (eq (empty .file.configMap) (empty .file.volume)) (or .file.configMap (not (include "haproxy-k8s-sync.publishes" $))) }}
{{- $problems = append $problems "config.source is services: set config.file.configMap to a ConfigMap or config.file.volume to one of extraVolumes, not both, with the part in front of what is made of the Services" }}
{{- end }}
{{- if and (eq (default "" .source) "services") (or .certsSecrets .file.filesDir) }}
{{- $problems = append $problems "config.certsSecrets or config.file.filesDir is set, but config.source is services, where annotations name certificates" }}
{{- end }}
{{- if and (ne (default "" .source) "services") (or (and $.Values.annotatedServices.clusterName (not (include "haproxy-k8s-sync.publishes" $))) $.Values.annotatedServices.ports $.Values.annotatedServices.namespaces $.Values.annotatedServices.sharedHosts $.Values.annotatedServices.trustedProxies $.Values.annotatedServices.defaultCertificate $.Values.annotatedServices.secretNamespaces $.Values.annotatedServices.secretsOf) }}
{{- $problems = append $problems "annotatedServices is set, but config.source is not services" }}
{{- end }}
{{- if and (eq (default "" .source) "template") .certsSecrets }}
{{- $problems = append $problems "config.certsSecrets is set, but config.source is template: have the set watch those Secrets" }}
{{- end }}
{{- if and (eq (default "" .source) "template") (ne (len (compact (list $.Values.templates.configMap.name $.Values.templates.volume $.Values.templates.pods.namespace))) 1) }}
{{- $problems = append $problems "config.source is template: set templates.configMap.name to a ConfigMap, templates.volume to one of extraVolumes, or templates.pods.namespace, not both" }}
{{- end }}
{{- if and $.Values.templates.pods.namespaces (not $.Values.templates.pods.namespace) }}
{{- $problems = append $problems "templates.pods.namespaces is set, but templates.pods.namespace is not" }}
{{- end }}
{{- if and $.Values.templates.targetsNamespace (or (not (has (toString $.Values.env.haproxy.dataplaneURL) (list "" "<nil>" "[]" "http://haproxy:5555"))) $.Values.sidecar.enabled) }}
{{- $problems = append $problems "templates.targetsNamespace is set beside env.haproxy.dataplaneURL or sidecar.enabled: set one of them, where HAProxy is" }}
{{- end }}
{{- if and (ne (default "" .source) "template") (or $.Values.templates.configMap.name $.Values.templates.volume $.Values.templates.pods.namespace $.Values.templates.watch $.Values.templates.targetsNamespace) }}
{{- $problems = append $problems "templates is set, but config.source is not template" }}
{{- end }}
{{- if and (not .source) .stateClaim }}
{{- $problems = append $problems "config.stateClaim is set, but config.source is not: there is no configuration to keep" }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validateCredentials" -}}
{{- $problems := list }}
{{- $haproxy := .Values.env.haproxy }}
{{- $urls := $haproxy.dataplaneURL }}
{{- if kindIs "slice" $urls }}
{{- $urls = join "," $urls }}
{{- end }}
{{- if regexMatch "://[^/,]*@" (toString $urls) }}
{{- $problems = append $problems "env.haproxy.dataplaneURL holds a user name or a password, which would be shown in a ConfigMap: use env.haproxy.username and password, or credentials.existingSecret" }}
{{- end }}
{{- if and $haproxy.username (not $haproxy.password) }}
{{- $problems = append $problems "env.haproxy.username is set without env.haproxy.password: set both or none" }}
{{- end }}
{{- if and $haproxy.password (not $haproxy.username) }}
{{- $problems = append $problems "env.haproxy.password is set without env.haproxy.username: set both or none" }}
{{- end }}
{{- if and $haproxy.token (or $haproxy.username $haproxy.password) }}
{{- $problems = append $problems "env.haproxy.token is set beside env.haproxy.username or password: set either the token or user name and password" }}
{{- end }}
{{- with .Values.credentials }}
{{- if .existingSecret }}
{{- if include "haproxy-k8s-sync.ownCredentials" $ }}
{{- $problems = append $problems "credentials.existingSecret is set beside credentials in the values (env.haproxy.username, password, token or credentials.file): put all of them into the Secret, or none" }}
{{- end }}
{{- if and (not .tokenKey) (ne (empty .usernameKey) (empty .passwordKey)) }}
{{- $problems = append $problems "credentials.usernameKey and passwordKey: set both or none" }}
{{- end }}
{{- if not (or .tokenKey .fileKey .usernameKey .passwordKey) }}
{{- $problems = append $problems "credentials.existingSecret is set, but none of its keys: set usernameKey and passwordKey, tokenKey or fileKey" }}
{{- end }}
{{- else if or .tokenKey .fileKey }}
{{- $problems = append $problems "credentials.tokenKey and fileKey name keys of credentials.existingSecret, which is not set" }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and .value (has .name (list "HAPROXY_DATAPLANE_USERNAME" "HAPROXY_DATAPLANE_PASSWORD" "HAPROXY_DATAPLANE_TOKEN")) }}
{{- $problems = append $problems (printf "extraEnv: %s would be shown in the Deployment: use env.haproxy.username, password and token, or credentials.existingSecret" .name) }}
{{- else if and .value (eq .name "OTEL_EXPORTER_OTLP_HEADERS") }}
{{- $problems = append $problems "extraEnv: OTEL_EXPORTER_OTLP_HEADERS would be shown in the Deployment: use valueFrom.secretKeyRef" }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validateTLS" -}}
{{- $problems := list }}
{{- $urls := include "haproxy-k8s-sync.dataplaneURLs" . }}
{{- with .Values.tls }}
{{- $own := include "haproxy-k8s-sync.ownTLS" $ }}
{{- if and .existingSecret $own }}
{{- $problems = append $problems "tls.existingSecret is set beside tls.ca, cert or key: put all of them into the Secret, or none" }}
{{- end }}
{{- if gt (len (compact (list .caSecret .caConfigMap .ca))) 1 }}
{{- $problems = append $problems "tls.caSecret, caConfigMap and ca: set one of them" }}
{{- end }}
{{- if ne (empty .cert) (empty .key) }}
{{- $problems = append $problems "tls.cert and tls.key: set both or none" }}
{{- end }}
{{- if and .existingSecret (ne (empty .certKey) (empty .keyKey)) }}
{{- $problems = append $problems "tls.certKey and keyKey: set both or none" }}
{{- end }}
{{- if and (or .caSecret .caConfigMap) (not .caKey) }}
{{- $problems = append $problems "tls.caKey is empty: set it to the key of the CA in tls.caSecret or caConfigMap" }}
{{- end }}
{{- if and (or .existingSecret .caSecret .caConfigMap $own) (not (contains "https://" $urls)) (not $.Values.templates.targetsNamespace) }}
{{- $problems = append $problems "tls is set, but env.haproxy.dataplaneURL has no https URL" }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validateSpiffe" -}}
{{- $problems := list }}
{{- $urls := include "haproxy-k8s-sync.dataplaneURLs" . | fromYamlArray }}
{{- $plain := list }}
{{- range $urls }}
{{- if not (hasPrefix "https://" .) }}
{{- $plain = append $plain . }}
{{- end }}
{{- end }}
{{- $files := or .Values.tls.existingSecret .Values.tls.caSecret .Values.tls.caConfigMap (include "haproxy-k8s-sync.ownTLS" .) }}
{{- $haproxy := .Values.env.haproxy }}
{{- with .Values.spiffe }}
{{- $enabled := eq (toString .enabled) "true" }}
{{- if and $enabled (or (and $plain (not $.Values.templates.targetsNamespace)) $.Values.sidecar.enabled) }}
{{- $problems = append $problems "spiffe.enabled is true, but not every HAProxy has an https URL in env.haproxy.dataplaneURL: without TLS no SPIFFE ID is checked" }}
{{- end }}
{{- if and $enabled (or $files $haproxy.dataplaneServerName (eq (toString $haproxy.dataplaneInsecure) "true")) }}
{{- $problems = append $problems "spiffe.enabled is true beside tls, env.haproxy.dataplaneServerName or dataplaneInsecure: set either, because SPIFFE identifies both sides" }}
{{- end }}
{{- if and $enabled (not .hostPath) (not .csiDriver) }}
{{- $problems = append $problems "spiffe.enabled is true, but spiffe.csiDriver and hostPath are empty: set where the agent's socket comes from" }}
{{- end }}
{{- if and .peerID (not $enabled) }}
{{- $problems = append $problems "spiffe.peerID is set, but spiffe.enabled is not true: without it no SPIFFE ID is checked" }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validateEtcd" -}}
{{- $problems := list }}
{{- $v := .Values }}
{{- with .Values.etcd }}
{{- $keys := or .passwordKey .caKey .certKey .keyKey }}
{{- if include "haproxy-k8s-sync.publishes" $ }}
{{- if not $v.config.source }}
{{- $problems = append $problems "config.target is etcd, but config.source is empty: set what is published there" }}
{{- else if include "haproxy-k8s-sync.managesServers" $ }}
{{- $problems = append $problems "config.target is etcd beside env.ingressServices, ingressNamespace, ingressServiceName, ingressServicePort or haproxy.backendName: servers of a Service are kept only in a HAProxy that the daemon drives; leave them out" }}
{{- end }}
{{- if not .endpoints }}
{{- $problems = append $problems "config.target is etcd, but etcd.endpoints is empty: set the URLs of its members" }}
{{- end }}
{{- if $v.sidecar.enabled }}
{{- $problems = append $problems "config.target is etcd beside sidecar.enabled: the HAProxy in the pod would get nothing; set one of them" }}
{{- end }}
{{- if or $v.templates.targetsNamespace (not (has (toString $v.env.haproxy.dataplaneURL) (list "" "<nil>" "[]" "http://haproxy:5555"))) }}
{{- $problems = append $problems "config.target is etcd beside env.haproxy.dataplaneURL or templates.targetsNamespace: the configuration goes to etcd alone, and each load balancer has a daemon of its own; leave them out" }}
{{- end }}
{{- if or (include "haproxy-k8s-sync.ownCredentials" $) (include "haproxy-k8s-sync.ownTLS" $) $v.credentials.existingSecret $v.tls.existingSecret $v.tls.caSecret $v.tls.caConfigMap (eq (toString $v.spiffe.enabled) "true") }}
{{- $problems = append $problems "config.target is etcd beside credentials or certificates of a Data Plane API (env.haproxy.username, credentials, tls, spiffe), which is not used: leave them out; etcd.existingSecret has those for etcd" }}
{{- end }}
{{- if include "haproxy-k8s-sync.annotatedSecrets" $ | fromYamlArray }}
{{- $problems = append $problems "config.target is etcd beside annotatedServices.secretNamespaces or secretsOf: private keys are never published; leave them out, and have certificates on the load balancers" }}
{{- end }}
{{- if ne (empty .user) (empty .passwordKey) }}
{{- $problems = append $problems "etcd.user and passwordKey: set both or none" }}
{{- end }}
{{- if ne (empty .certKey) (empty .keyKey) }}
{{- $problems = append $problems "etcd.certKey and keyKey: set both or none" }}
{{- end }}
{{- if and .existingSecret (not $keys) }}
{{- $problems = append $problems "etcd.existingSecret is set, but none of its keys: set passwordKey, caKey, or certKey and keyKey" }}
{{- else if and $keys (not .existingSecret) }}
{{- $problems = append $problems "etcd.passwordKey, caKey, certKey and keyKey name keys of etcd.existingSecret, which is not set" }}
{{- end }}
{{- else if or .endpoints .path .name .user .existingSecret $keys }}
{{- $problems = append $problems "etcd is set, but config.target is not etcd" }}
{{- end }}
{{- end }}
{{- range .Values.extraEnv }}
{{- if and .value (eq .name "ETCD_PASSWORD") }}
{{- $problems = append $problems "extraEnv: ETCD_PASSWORD would be shown in the Deployment: use etcd.existingSecret and passwordKey" }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}

{{- define "haproxy-k8s-sync.validatePods" -}}
{{- $problems := list }}
{{- $elected := include "haproxy-k8s-sync.leaderElection" . }}
{{- $writes := ne (toString .Values.env.dryRun) "true" }}
{{- $alone := not .Values.sidecar.enabled }}
{{- /* Several producers of one cluster publish each version once. */}}
{{- $meet := and $alone (not (include "haproxy-k8s-sync.publishes" .)) }}
{{- if and $writes $meet (not $elected) (gt (int .Values.replicaCount) 1) }}
{{- $problems = append $problems (printf "replicaCount is %d and leaderElection.enabled is false: all of them would write to HAProxy; leave leaderElection.enabled out or use one replica" (int .Values.replicaCount)) }}
{{- end }}
{{- if and (eq $elected "true") (ne (toString .Values.leaderElection.enabled) "true") (not .Values.rbac.create) (not .Values.kubeconfig.existingSecret) }}
{{- $problems = append $problems (printf "replicaCount is %d and rbac.create is false: a Lease elects the leader, and without rights on it nothing is written; grant ServiceAccount %s get, watch, update and create on leases (coordination.k8s.io) in namespace %s and set leaderElection.enabled to true, or use one replica" (int .Values.replicaCount) (include "haproxy-k8s-sync.serviceAccountName" .) (include "haproxy-k8s-sync.leaseNamespace" .)) }}
{{- end }}
{{- if and .Values.release .Values.sidecar.enabled }}
{{- $problems = append $problems "release is set and sidecar.enabled is true: each pod has a HAProxy of its own, of which nothing stays; uninstall without it" }}
{{- end }}
{{- if and .Values.config.stateClaim (not $elected) (gt (int .Values.replicaCount) 1) }}
{{- $problems = append $problems (printf "config.stateClaim is set and replicaCount is %d without leader election: only one daemon at a time may have that volume; use one replica, %s" (int .Values.replicaCount) ($alone | ternary "or leave leaderElection.enabled out" "or leave config.stateClaim out")) }}
{{- end }}
{{- if and $writes $meet (not $elected) (eq (toString (dig "type" "" (default dict .Values.strategy))) "RollingUpdate") }}
{{- $problems = append $problems "strategy.type is RollingUpdate without leader election: the old and the new pod would both write to HAProxy; set leaderElection.enabled to true" }}
{{- end }}
{{- if and (not (empty .Values.podDisruptionBudget.minAvailable)) (not (empty .Values.podDisruptionBudget.maxUnavailable)) }}
{{- $problems = append $problems "podDisruptionBudget.minAvailable and maxUnavailable: set one of them" }}
{{- end }}
{{- if and .Values.podDisruptionBudget.enabled (not (empty .Values.podDisruptionBudget.minAvailable)) (eq (toString .Values.podDisruptionBudget.minAvailable) (toString .Values.replicaCount)) }}
{{- $problems = append $problems (printf "podDisruptionBudget.minAvailable is %v of %v replicas: no node with it could be drained; use more replicas or maxUnavailable" .Values.podDisruptionBudget.minAvailable .Values.replicaCount) }}
{{- end }}
{{- $probes := print (include "haproxy-k8s-sync.probe" (list . "livenessProbe")) (include "haproxy-k8s-sync.probe" (list . "readinessProbe")) (include "haproxy-k8s-sync.probe" (list . "startupProbe")) }}
{{- if and $probes (include "haproxy-k8s-sync.listenHost" .) (not .Values.hostNetwork) }}
{{- $problems = append $problems (printf "env.listenAddress is %s, where no probe reaches the pod: leave the address out (:%s), or switch the probes off" .Values.env.listenAddress (include "haproxy-k8s-sync.port" .)) }}
{{- end }}
{{- toYaml $problems }}
{{- end }}
