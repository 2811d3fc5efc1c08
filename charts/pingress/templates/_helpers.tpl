{{- /* Helm's own labels. Selectors and pods never have them: they change with each version. */}}
{{- define "pingress.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- /*
Objects in the namespace have the names of the manifests, which the controller knows. Names of the
whole cluster get the namespace, so that another release has others.
*/}}
{{- define "pingress.suffix" -}}
{{- if ne .Release.Namespace (include "pingress.defaultNamespace" .) }}-{{ .Release.Namespace }}{{ end }}
{{- end }}

{{- define "pingress.priorityClass" -}}
pingress-proxy{{ include "pingress.suffix" . }}
{{- end }}

{{- /* In: dict "root" $ "name" IMAGE "digest" DIGEST. */}}
{{- define "pingress.image" -}}
{{- $image := .root.Values.image -}}
{{- printf "%s/%s:%s" $image.registry .name (default .root.Chart.AppVersion $image.tag) -}}
{{- with .digest }}@{{ . }}{{ end -}}
{{- end }}

{{- define "pingress.listenRange" -}}
{{- default (include "pingress.defaultListenRange" .) .Values.controller.flags.listenRange -}}
{{- end }}

{{- /* The port of an address such as [::]:9091. */}}
{{- define "pingress.port" -}}
{{- regexFind "[1-9][0-9]*$" . -}}
{{- end }}

{{- define "pingress.adminPort" -}}
{{- include "pingress.port" (required "controller.flags.admin is needed: probes use its port" .Values.controller.flags.admin) -}}
{{- end }}

{{- define "pingress.streamPort" -}}
{{- with .Values.controller.flags.stream }}{{ include "pingress.port" . }}{{ else }}{{ include "pingress.defaultStreamPort" . }}{{ end -}}
{{- end }}

{{- /* 1m30s -> 90000. */}}
{{- define "pingress.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9.]+(ms|s|m|h)" . -1 -}}
{{- $sum = addf $sum (mulf (regexFind "^[0-9.]+" .) (get $units (regexFind "[a-z]+$" .))) -}}
{{- end -}}
{{- int64 $sum -}}
{{- end }}

{{- /* 32KiB -> 32768. */}}
{{- define "pingress.bytes" -}}
{{- $units := dict "" 1 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 -}}
{{- mul (regexFind "^[0-9]+" .) (get $units (regexFind "[KMG]i" .)) -}}
{{- end }}

{{- /* As YAML and --set give it: a whole number may be a float, and a large or small one 1e+06 or 1e-05. */}}
{{- define "pingress.text" -}}
{{- if not (kindIs "float64" .) }}{{ toString . }}
{{- else if eq (floor .) . }}{{ int64 . }}
{{- else }}{{ regexReplaceAll "\\.?0+$" (printf "%.9f" .) "" }}
{{- end -}}
{{- end }}

{{- /*
Arguments of values that are flags, a list in YAML. In: dict "path" PATH "flags" VALUES "rows" ROWS of
_flags.tpl "prefix" PREFIX. Compares durations and sizes with their range, which no schema does.
*/}}
{{- define "pingress.arguments" -}}
{{- $context := . -}}
{{- range splitList "\n" .rows }}
{{- $row := splitList "|" . }}
{{- $key := index $row 0 }}
{{- if and (hasKey $context.flags $key) (not (kindIs "invalid" (get $context.flags $key))) }}
{{- $value := get $context.flags $key }}
{{- range ternary $value (list $value) (kindIs "slice" $value) }}
{{- $text := include "pingress.text" . }}
{{- $unit := index $row 2 }}
{{- if and $unit (ne $text "never") }}
{{- $size := int64 (ternary (include "pingress.bytes" $text) (include "pingress.milliseconds" $text) (eq $unit "size")) }}
{{- if or (lt $size (int64 (index $row 3))) (gt $size (int64 (index $row 4))) }}
{{- fail (printf "%s.%s is %s; it takes %s" $context.path $key $text (index $row 5)) }}
{{- end }}
{{- end }}
- {{ printf "%s--%s=%s" $context.prefix (index $row 1) $text | toJson }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* In: dict "root" $ "key" KEY. Out: the duration of a flag of the controller in ms. */}}
{{- define "pingress.controllerDuration" -}}
{{- $text := default (include (printf "pingress.default.%s" .key) .root) (get .root.Values.controller.flags .key) -}}
{{- include "pingress.milliseconds" (toString $text) -}}
{{- end }}

{{- /* Refuses objects that the cluster does not know. */}}
{{- define "pingress.checkKubernetes" -}}
{{- $version := .Capabilities.KubeVersion.Version -}}
{{- range $name := list "gateway" "admission" -}}
{{- if and (get $.Values $name).create (not (semverCompare ">=1.30-0" $version)) -}}
{{- fail (printf "%s.create needs Kubernetes 1.30 or newer, and this is %s: upgrade the cluster, or set %s.create to false. helm template takes the version of the cluster by --kube-version" $name $version $name) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Refuses addresses of the controller that no kubelet, or no proxy, reaches. */}}
{{- define "pingress.checkAddresses" -}}
{{- $flags := .Values.controller.flags -}}
{{- range $name := list "admin" "stream" -}}
{{- with get $flags $name -}}
{{- if regexMatch ":0+$" . -}}
{{- fail (printf "controller.flags.%s is %s: give it a port from 1 to 65535" $name .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if regexMatch `^(127\.|localhost:|\[::1\])` $flags.admin -}}
{{- fail (printf "controller.flags.admin is %s, which the kubelet's probes do not reach: use [::]:%s" $flags.admin (include "pingress.adminPort" .)) -}}
{{- end -}}
{{- if eq (include "pingress.adminPort" .) (include "pingress.streamPort" .) -}}
{{- fail (printf "controller.flags.admin is %s, which has the port of the stream: use another port" $flags.admin) -}}
{{- end -}}
{{- end }}

{{- /* Refuses what a pattern cannot: an order of ports, a name that comes twice. */}}
{{- define "pingress.checkTexts" -}}
{{- with .Values.controller.flags.listenRange -}}
{{- $range := splitList "-" . -}}
{{- $from := int (first $range) -}}
{{- $to := int (last $range) -}}
{{- $limit := int (include "pingress.maxRangePorts" $) -}}
{{- if or (gt $from $to) (ge (sub $to $from) $limit) -}}
{{- fail (printf "controller.flags.listenRange is %s: give the first port before the last, and at most %d ports, like %s" . $limit (include "pingress.defaultListenRange" $)) -}}
{{- end -}}
{{- end -}}
{{- $names := dict -}}
{{- range splitList "," (default "" .Values.proxy.flags.accessLogFields) -}}
{{- $name := trim . -}}
{{- if hasKey $names $name -}}
{{- fail (printf "proxy.flags.accessLogFields has %s twice: name each field once" $name) -}}
{{- end -}}
{{- $_ := set $names $name true -}}
{{- end -}}
{{- end }}

{{- /* Refuses blocks of addresses with bits behind their prefix, as proxies do. */}}
{{- define "pingress.checkBlocks" -}}
{{- range $name := list "trustedProxies" "upstreamNetworks" -}}
{{- range $block := get $.Values.proxy.flags $name | default list -}}
{{- $halves := splitList "/" $block -}}
{{- $address := first $halves -}}
{{- $isV6 := contains ":" $address -}}
{{- /* Not those that end like an IPv4 address, or in a zone: proxies alone look at them. */ -}}
{{- if and (eq (len $halves) 2) (not (contains "%" $address)) (not (and $isV6 (contains "." $address))) -}}
{{- $bits := last $halves | atoi -}}
{{- $width := ternary 16 8 $isV6 -}}
{{- $groups := splitList (ternary ":" "." $isV6) $address -}}
{{- if contains "::" $address -}}
{{- $sides := splitList "::" $address -}}
{{- $before := compact (splitList ":" (first $sides)) -}}
{{- $behind := compact (splitList ":" (last $sides)) -}}
{{- $zeros := list -}}
{{- range until (int (sub (sub 8 (len $before)) (len $behind))) -}}
{{- $zeros = append $zeros "0" -}}
{{- end -}}
{{- $groups = concat $before $zeros $behind -}}
{{- end -}}
{{- range $i, $group := $groups -}}
{{- $number := ternary (printf "0x%s" $group) $group $isV6 | int64 -}}
{{- $kept := max 0 (min $width (sub $bits (mul $i $width))) -}}
{{- $step := 1 -}}
{{- range until (int (sub $width $kept)) -}}
{{- $step = mul $step 2 -}}
{{- end -}}
{{- if ne (mod $number $step | int) 0 -}}
{{- fail (printf "proxy.flags.%s has %s, which has bits behind its prefix: set them to 0" $name $block) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /*
Refuses ports of Gateways on which proxies listen already: the controller would not start, or no proxy.
*/}}
{{- define "pingress.checkPorts" -}}
{{- $text := include "pingress.listenRange" . -}}
{{- $range := splitList "-" $text -}}
{{- $from := int (first $range) -}}
{{- $to := int (last $range) -}}
{{- $own := splitList " " (include "pingress.proxyPorts" .) -}}
{{- range $port := $own -}}
{{- if and (ge (int $port) $from) (le (int $port) $to) -}}
{{- fail (printf "controller.flags.listenRange is %s, which contains %s: use a range without %s, on which proxies listen" $text $port (join ", " $own)) -}}
{{- end -}}
{{- end -}}
{{- $isOff := eq (toString .Values.controller.flags.gateway) "false" -}}
{{- range $name := list "listenHttp" "listenHttps" -}}
{{- range $address := get $.Values.proxy.flags $name | default list -}}
{{- $port := int (include "pingress.port" $address) -}}
{{- if and (not $isOff) (ge $port $from) (le $port $to) -}}
{{- fail (printf "proxy.flags.%s has %s, whose port is one of controller.flags.listenRange, %s: use another port or range, or set controller.flags.gateway to false" $name $address $text) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Refuses flags of the proxies that they refuse together: none would start. */}}
{{- define "pingress.checkProxies" -}}
{{- $flags := .Values.proxy.flags -}}
{{- $isOff := eq (toString $flags.accessLog) "false" -}}
{{- if and (eq (toString $flags.accessLogFormat) "nginx") $flags.accessLogFields (not $isOff) -}}
{{- fail (printf "proxy.flags.accessLogFields is %s, which is for lines in JSON: remove it, or set proxy.flags.accessLogFormat to json" $flags.accessLogFields) -}}
{{- end -}}
{{- end }}

{{- /* Refuses flags that the controller refuses together: it would not start. */}}
{{- define "pingress.checkFlags" -}}
{{- include "pingress.checkKubernetes" . -}}
{{- include "pingress.checkAddresses" . -}}
{{- include "pingress.checkTexts" . -}}
{{- include "pingress.checkBlocks" . -}}
{{- include "pingress.checkPorts" . -}}
{{- include "pingress.checkProxies" . -}}
{{- $flags := .Values.controller.flags -}}
{{- $replicas := default (include "pingress.default.proxyReplicas" .) $flags.proxyReplicas | int -}}
{{- if and $flags.proxyMaxReplicas (lt (int $flags.proxyMaxReplicas) $replicas) -}}
{{- fail (printf "controller.flags.proxyMaxReplicas must be no smaller than proxyReplicas, which is %d" $replicas) -}}
{{- end -}}
{{- $lease := include "pingress.controllerDuration" (dict "root" . "key" "leaseDuration") | int64 -}}
{{- $renew := include "pingress.controllerDuration" (dict "root" . "key" "renewDeadline") | int64 -}}
{{- $retry := include "pingress.controllerDuration" (dict "root" . "key" "retryPeriod") | int64 -}}
{{- if le $lease $renew -}}
{{- fail "controller.flags.leaseDuration must be longer than renewDeadline" -}}
{{- end -}}
{{- if le (mul $renew 5) (mul $retry 6) -}}
{{- fail "controller.flags.renewDeadline must be longer than 1.2 times retryPeriod" -}}
{{- end -}}
{{- with $flags.defaultSslCertificate -}}
{{- $namespace := splitList "/" . | first -}}
{{- if and $flags.watchNamespace (not (has $namespace $flags.watchNamespace)) -}}
{{- fail (printf "controller.flags.defaultSslCertificate must be in a namespace that is watched: add %s to watchNamespace" $namespace) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* The controller's arguments, a list in YAML. */}}
{{- define "pingress.controllerArguments" -}}
{{- include "pingress.checkFlags" . }}
{{- $flags := deepCopy .Values.controller.flags }}
{{- $image := .Values.image }}
{{- $isOwnImage := or $image.tag $image.proxyDigest (ne $image.registry (include "pingress.defaultRegistry" .)) }}
{{- if and $isOwnImage (not $flags.proxyServerImage) }}
{{- $own := include "pingress.image" (dict "root" . "name" "pingress-proxy-server" "digest" $image.proxyDigest) }}
{{- $_ := set $flags "proxyServerImage" $own }}
{{- end }}
{{- if and .Values.priorityClass.create (not $flags.proxyPriorityClass) }}
{{- $_ := set $flags "proxyPriorityClass" (include "pingress.priorityClass" .) }}
{{- end }}
{{- include "pingress.arguments" (dict "path" "controller.flags" "flags" $flags "rows" (include "pingress.controllerFlags" .) "prefix" "") }}
{{- if ne .Release.Namespace (include "pingress.defaultNamespace" .) }}
- {{ printf "--namespace=%s" .Release.Namespace | toJson }}
{{- end }}
{{- range .Values.image.pullSecrets }}
- {{ printf "--image-pull-secret=%s" . | toJson }}
{{- end }}
{{- if .Values.proxy.podTemplate }}
- --proxy-pod-template=/etc/pingress-controller/pod-template.yaml
{{- end }}
{{- include "pingress.arguments" (dict "path" "proxy.flags" "flags" .Values.proxy.flags "rows" (include "pingress.proxyFlags" .) "prefix" "--proxy-arg=") }}
{{- end }}
