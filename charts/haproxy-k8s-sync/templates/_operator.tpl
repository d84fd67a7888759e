{{/*
Values of an operator for a haproxy.cfg in a Secret, accepted by their names: they become this chart's values, once, before anything else is made of
.Values (every template that depends on it begins with this). What has no counterpart here is refused with what to do instead.
*/}}
{{- define "haproxy-k8s-sync.operator" -}}
{{- $values := .Values }}
{{- include "haproxy-k8s-sync.validateReuse" . }}
{{- if not (hasKey $values "operatorProblems") }}
{{- $problems := list }}
{{- /* Whether anything of it is set: a string, a number or a flag. */}}
{{- $theirs := dict }}
{{- range list "watchNamespace" "secretName" "secretKey" "certsSecretNames" "dataplane" "spire" "vault" "controller" "metrics" "probes" }}
{{- $_ := set $theirs . (get $values .) }}
{{- end }}
{{- if regexMatch "[:\\[](\"[^\"]|[0-9]|true|false)" (toJson $theirs) }}
{{- $at := include "haproxy-k8s-sync.operatorGiven" . | fromJson }}
{{- if has $values.config.source (list "file" "template") }}
{{- $problems = append $problems (printf "config.source is %s beside values of an operator for a Secret (watchNamespace, secretName, dataplane, ...): set either" $values.config.source) }}
{{- end }}
{{- $_ := set $values.config "source" "secret" }}
{{- /* By the operator's name, this chart's name, its default, the operator's default. */}}
{{- $rows := list
  (list "watchNamespace" "config.secret.namespace" "" "haproxy-operator")
  (list "secretName" "config.secret.name" "haproxy-config" "haproxy-config")
  (list "secretKey" "config.secret.key" "haproxy.cfg" "haproxy.cfg")
  (list "" "config.report" "events" "annotation")
  (list "certsSecretNames" "config.certsSecrets" list list)
  (list "dataplane.url" "env.haproxy.dataplaneURL" "http://haproxy:5555" "https://haproxy:5555/v3")
  (list "dataplane.insecure" "env.haproxy.dataplaneInsecure" false false)
  (list "dataplane.auth.secretName" "credentials.existingSecret" "" "")
  (list "dataplane.auth.usernameKey" "credentials.usernameKey" "username" "username")
  (list "dataplane.auth.passwordKey" "credentials.passwordKey" "password" "password") }}
{{- if eq (toString (get $at "spire.enabled")) "true" }}
{{- $socket := trimPrefix "unix://" (default "/run/spire/agent.sock" (get $at "spire.socketPath")) }}
{{- $rows = concat $rows (list
  (list "" "spiffe.enabled" false true)
  (list "" "spiffe.hostPath" "" (dir $socket))
  (list "" "spiffe.socket" "spire-agent.sock" (base $socket))) }}
{{- range list "dataplane.tls.existingSecret" "dataplane.serverCA.configMap.name" "dataplane.serverCA.secretKeyRef.name" "dataplane.caCertPath" "dataplane.clientCertPath" "dataplane.clientKeyPath" }}
{{- if get $at . }}
{{- $problems = append $problems (printf "spire.enabled is true beside %s: set either, because SPIFFE identifies both sides" .) }}
{{- end }}
{{- end }}
{{- else if hasPrefix "https://" (default "https://" (get $at "dataplane.url")) }}
{{- $rows = concat $rows (list
  (list "dataplane.tls.existingSecret" "tls.existingSecret" "" (hasKey $at "dataplane.tls.existingSecret" | ternary "" "haproxy-operator-tls"))
  (list "dataplane.serverCA.configMap.name" "tls.caConfigMap" "" "")
  (list "dataplane.serverCA.secretKeyRef.name" "tls.caSecret" "" "")) }}
{{- $problems = concat $problems (include "haproxy-k8s-sync.operatorPaths" (list $values $at) | fromYamlArray) }}
{{- end }}
{{- range $rows }}
{{- $name := index . 0 }}
{{- $path := splitList "." (index . 1) }}
{{- $parent := $values }}
{{- range initial $path }}
{{- $parent = get $parent . }}
{{- end }}
{{- $own := get $parent (last $path) }}
{{- $given := get $at $name }}
{{- if and (ne (toJson $own) (toJson (index . 2))) (not (empty $own)) }}
{{- if and (not (empty $given)) (ne (toJson $own) (toJson $given)) }}
{{- $problems = append $problems (printf "%s and %s are two names of one value and have different values: set one of them" (index . 1) $name) }}
{{- end }}
{{- else }}
{{- $_ := set $parent (last $path) (empty $given | ternary (index . 3) $given) }}
{{- end }}
{{- end }}
{{- if eq $values.config.drift "report" }}
{{- $_ := set $values.config "drift" (eq (toString (get $at "controller.driftRemediate")) "false" | ternary "report" "repair") }}
{{- end }}
{{- $_ := set $values.env "emitEvents" true }}
{{- $_ := set $values "metrics" (dict "port" (default 9090 (get $at "metrics.port"))) }}
{{- $_ := set $values "probes" (dict "port" (default 8081 (get $at "probes.port"))) }}
{{- if eq (toString $values.leaderElection.enabled) "" }}
{{- $_ := set $values.leaderElection "enabled" true }}
{{- end }}
{{- /* The operator's: the two never write at the same time. */}}
{{- $_ := set $values.leaderElection "leaseName" (default "haproxy-operator.tlu.bcit.ca" $values.leaderElection.leaseName) }}
{{- if eq (toString (get $at "vault.enabled")) "true" }}
{{- $problems = append $problems (printf "vault.enabled: this chart makes no objects of the Vault Secrets Operator; apply yours beside it (of the running release: helm get manifest), set vault.enabled to false, and name the Secrets that they write: dataplane.tls.existingSecret (%s), dataplane.serverCA.secretKeyRef.name, dataplane.auth.secretName" (default "haproxy-operator-tls" (get $at "vault.pki.secretName"))) }}
{{- else if eq (toString (get $at "dataplane.serverCA.vaultPKI.enabled")) "true" }}
{{- $problems = append $problems "dataplane.serverCA.vaultPKI.enabled: this chart makes no objects of the Vault Secrets Operator; apply yours beside it, and name the Secret that it writes by dataplane.serverCA.secretKeyRef.name" }}
{{- end }}
{{- end }}
{{- if eq (toString $values.rbac.namespaced) "false" }}
{{- $problems = append $problems "rbac.namespaced is false, which would grant every Secret of every namespace; the rights on the Secrets that are named are enough: leave it out" }}
{{- end }}
{{- with $values.zoneAntiAffinity }}
{{- if and (eq (toString .enabled) "true") (dig "podAntiAffinity" dict (default dict $values.affinity)) }}
{{- $problems = append $problems "zoneAntiAffinity.enabled is true beside affinity.podAntiAffinity: set one of them" }}
{{- else if eq (toString .enabled) "true" }}
{{- $term := dict "labelSelector" (dict "matchLabels" (include "haproxy-k8s-sync.selectorLabels" $ | fromYaml)) "topologyKey" (default "topology.kubernetes.io/zone" .topologyKey) }}
{{- $preferred := list (dict "weight" 100 "podAffinityTerm" $term) }}
{{- $_ := set $values "affinity" (merge (dict "podAntiAffinity" (dict "preferredDuringSchedulingIgnoredDuringExecution" $preferred)) (default dict $values.affinity)) }}
{{- end }}
{{- end }}
{{- /* As the daemon's own default: who writes the objects has no other answer. */}}
{{- if eq (toString $values.env.emitEvents) "" }}
{{- $_ := set $values.env "emitEvents" (and (has $values.config.source (list "services" "template")) (ne (toString $values.env.dryRun) "true")) }}
{{- end }}
{{- $_ := set $values "operatorProblems" $problems }}
{{- end }}
{{- end }}

{{/* Those that are set, by their paths, as JSON; an empty one counts as set. */}}
{{- define "haproxy-k8s-sync.operatorGiven" -}}
{{- $given := dict }}
{{- range list "watchNamespace" "secretName" "secretKey" "certsSecretNames" "dataplane.url" "dataplane.insecure" "dataplane.caCertPath" "dataplane.clientCertPath" "dataplane.clientKeyPath" "dataplane.serverCA.vaultPKI.enabled" "dataplane.serverCA.configMap.name" "dataplane.serverCA.configMap.key" "dataplane.serverCA.secretKeyRef.name" "dataplane.serverCA.secretKeyRef.key" "dataplane.tls.existingSecret" "dataplane.auth.secretName" "dataplane.auth.usernameKey" "dataplane.auth.passwordKey" "spire.enabled" "spire.socketPath" "vault.enabled" "vault.pki.secretName" "controller.driftRemediate" "metrics.port" "probes.port" }}
{{- $at := $.Values }}
{{- $there := true }}
{{- range splitList "." . }}
{{- $map := kindIs "map" $at | ternary $at dict }}
{{- $there = and $there (hasKey $map .) }}
{{- $at = get $map . }}
{{- end }}
{{- if and $there (not (kindIs "invalid" $at)) }}
{{- $_ := set $given . $at }}
{{- end }}
{{- end }}
{{- toJson $given }}
{{- end }}

{{/*
Its paths say which keys of its Secrets are which file: what is below the folders that it mounts becomes the keys' names in `tls`.
A YAML list of what cannot be.
*/}}
{{- define "haproxy-k8s-sync.operatorPaths" -}}
{{- $tls := (index . 0).tls }}
{{- $at := index . 1 }}
{{- $problems := list }}
{{- $folder := "/etc/haproxy-operator/tls/" }}
{{- $mounted := "/etc/haproxy-operator/server-ca/ca.crt" }}
{{- $keys := dict "dataplane.clientCertPath" "certKey" "dataplane.clientKeyPath" "keyKey" }}
{{- $ca := default $mounted (get $at "dataplane.caCertPath") }}
{{- $kind := get $at "dataplane.serverCA.configMap.name" | empty | ternary "secretKeyRef" "configMap" }}
{{- if get $at (printf "dataplane.serverCA.%s.name" $kind) }}
{{- $_ := set $tls "caKey" (default "ca.crt" (get $at (printf "dataplane.serverCA.%s.key" $kind))) }}
{{- if ne $ca $mounted }}
{{- $problems = append $problems (printf "dataplane.caCertPath is %s, but dataplane.serverCA says where the CA comes from: leave one of them out" $ca) }}
{{- end }}
{{- else if ne $ca $mounted }}
{{- $_ := set $keys "dataplane.caCertPath" "caKey" }}
{{- end }}
{{- range $name, $key := $keys }}
{{- $path := default "" (get $at $name) }}
{{- if and $path (not (regexMatch (printf "^%s[-._a-zA-Z0-9]+$" $folder) $path)) }}
{{- $problems = append $problems (printf "%s is %s, where nothing is mounted: name a key of dataplane.tls.existingSecret as %sKEY, or leave it out" $name $path $folder) }}
{{- else if $path }}
{{- $_ := set $tls $key (trimPrefix $folder $path) }}
{{- end }}
{{- end }}
{{- toYaml $problems }}
{{- end }}
