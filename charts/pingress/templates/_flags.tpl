{{- /* Made from the programs' flags by deno task docs:update; do not edit. */}}
{{- /* KEY|FLAG|UNIT|MIN|MAX|WHAT IT TAKES, of each value that is a flag. */}}
{{- define "pingress.controllerFlags" -}}
backend|backend||||
proxyServerImage|proxy-server-image||||
nodeSelector|node-selector||||
proxyReplicas|proxy-replicas||||
proxyMaxReplicas|proxy-max-replicas||||
proxyCpuTarget|proxy-cpu-target||||
serviceType|service-type||||
serviceAnnotation|service-annotation||||
loadBalancerClass|load-balancer-class||||
proxyPriorityClass|proxy-priority-class||||
proxyDrainDelay|proxy-drain-delay|duration|0|600000|a duration like 500ms, 10s or 1h up to 10m
proxyDrainTimeout|proxy-drain-timeout|duration|0|86400000|a duration like 500ms, 10s or 1h up to 24h
proxyUpdates|proxy-updates||||
cleanupDelay|cleanup-delay||||
cleanupService|cleanup-service||||
watchNamespace|watch-namespace||||
ingressClass|ingress-class||||
nginxClass|nginx-class||||
controllerName|controller-name||||
hostOwnership|host-ownership||||
watchIngressWithoutClass|watch-ingress-without-class||||
defaultBackend|default-backend||||
defaultSslCertificate|default-ssl-certificate||||
allowExternalName|allow-external-name||||
maxRsaBits|max-rsa-bits||||
gateway|gateway||||
listenRange|listen-range||||
configmap|configmap||||
acceptUnsupported|accept-unsupported||||
allowAcceptUnsupportedAnnotation|allow-accept-unsupported-annotation||||
secrets|secrets||||
maxNamespaceRoutes|max-namespace-routes||||
maxNamespaceHostBytes|max-namespace-host-bytes|size|1024|9007199254740991|a size in bytes like 512, 32KiB or 1MiB from 1KiB on
maxNamespaceEndpoints|max-namespace-endpoints||||
maxNamespaceCertificates|max-namespace-certificates||||
maxIngressPaths|max-ingress-paths||||
maxObjectBytes|max-object-bytes|size|1024|9007199254740991|a size in bytes like 512, 32KiB or 1MiB from 1KiB on
maxNamespaceBytes|max-namespace-bytes|size|1024|9007199254740991|a size in bytes like 512, 32KiB or 1MiB from 1KiB on
publishAddress|publish-address||||
gatherTime|gather-time|duration|0|10000|a duration like 500ms, 10s or 1h up to 10s
gatherLimit|gather-limit|duration|0|60000|a duration like 500ms, 10s or 1h up to 1m
endpointInterval|endpoint-interval|duration|0|600000|a duration like 500ms, 10s or 1h up to 10m
leaseDuration|lease-duration|duration|1000|9007199254740991|a duration like 500ms, 10s or 1h from 1s on
renewDeadline|renew-deadline|duration|500|9007199254740991|a duration like 500ms, 10s or 1h from 500ms on
retryPeriod|retry-period|duration|100|9007199254740991|a duration like 500ms, 10s or 1h from 100ms on
stream|stream||||
streamName|stream-name||||
allowUnboundTokens|allow-unbound-tokens||||
admin|admin||||
logLevel|log-level||||
logFormat|log-format||||
{{- end }}
{{- define "pingress.proxyFlags" -}}
watch|watch||||
controller|controller||||
controllerCa|controller-ca||||
controllerToken|controller-token||||
zone|zone||||
maxRouteLoss|max-route-loss||||
listenHttp|listen-http||||
listenHttps|listen-https||||
http2|http2||||
h2c|h2c||||
sslRedirect|ssl-redirect||||
sslRedirectPort|ssl-redirect-port||||
workers|workers||||
trustedProxies|trusted-proxies||||
upstreamNetworks|upstream-networks||||
allowLoopbackUpstreams|allow-loopback-upstreams||||
balance|balance||||
grpcWeb|grpc-web||||
clusterDomain|cluster-domain||||
logLevel|log-level||||
logFormat|log-format||||
accessLog|access-log||||
accessLogFormat|access-log-format||||
accessLogFields|access-log-fields||||
accessLogRatio|access-log-ratio||||
accessLogQuery|access-log-query||||
otlpEndpoint|otlp-endpoint||||
traceRatio|trace-ratio||||
traceServiceName|trace-service-name||||
metricsBy|metrics-by||||
metricsLimit|metrics-limit||||
requestHeadLimit|request-head-limit|size|1024|1048576|a size in bytes like 512, 32KiB or 1MiB from 1KiB to 1MiB
requestFieldLimit|request-field-limit||||
mergeSlashes|merge-slashes||||
refuseEscapedSlashes|refuse-escaped-slashes||||
requestHeadTimeout|request-head-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
bodyLimit|body-limit||||
bodyTimeout|body-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
bodyRate|body-rate||||
clientIdleTimeout|client-idle-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
connectionRequestLimit|connection-request-limit||||
writeTimeout|write-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
writeRate|write-rate||||
connectionLimit|connection-limit||||
connectionsPerAddress|connections-per-address||||
bodiesPerAddress|bodies-per-address||||
memoryLimit|memory-limit||||
connectTimeout|connect-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
responseHeadTimeout|response-head-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
responseBodyTimeout|response-body-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
handshakeTimeout|handshake-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
handshakeLimit|handshake-limit||||
tunnelIdleTimeout|tunnel-idle-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
responseHeadLimit|response-head-limit|size|1024|1048576|a size in bytes like 512, 32KiB or 1MiB from 1KiB to 1MiB
responseFieldLimit|response-field-limit||||
tries|tries||||
retryBudget|retry-budget||||
ejectionFailures|ejection-failures||||
ejectionAnswers|ejection-answers||||
ejectionTime|ejection-time|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
holdTimeout|hold-timeout|duration|0|300000|a duration like 500ms, 10s or 1h up to 5m
holdLimit|hold-limit||||
http2StreamLimit|http2-stream-limit||||
http2StreamWindow|http2-stream-window|size|16384|16777216|a size in bytes like 512, 32KiB or 1MiB from 16KiB to 16MiB
http2ConnectionWindow|http2-connection-window|size|65536|67108864|a size in bytes like 512, 32KiB or 1MiB from 64KiB to 64MiB
http2ResetLimit|http2-reset-limit||||
http2ControlLimit|http2-control-limit||||
http2UpstreamStreams|http2-upstream-streams||||
http2PingTimeout|http2-ping-timeout|duration|100|9007199254740991|a duration like 500ms, 10s or 1h from 100ms on
upstreamIdleTimeout|upstream-idle-timeout|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
upstreamIdleLimit|upstream-idle-limit||||
upstreamConnectionAge|upstream-connection-age|duration|1|9007199254740991|a duration like 500ms, 10s or 1h from 1ms on
{{- end }}
{{- define "pingress.defaultListenRange" -}}
10000-10255
{{- end }}
{{- define "pingress.maxRangePorts" -}}
512
{{- end }}
{{- define "pingress.proxyPorts" -}}
8080 8443 9090
{{- end }}
{{- define "pingress.defaultStreamPort" -}}
9443
{{- end }}
{{- define "pingress.default.proxyReplicas" -}}
2
{{- end }}
{{- define "pingress.default.leaseDuration" -}}
15s
{{- end }}
{{- define "pingress.default.renewDeadline" -}}
10s
{{- end }}
{{- define "pingress.default.retryPeriod" -}}
2s
{{- end }}
{{- define "pingress.default.ingressClass" -}}
pingress
{{- end }}
{{- /* NAME|MIN|MAX of each threshold of the alerts; MAX may be empty. */}}
{{- define "pingress.thresholdRanges" -}}
errorBudget|0.000001|0.06
requestRate|0|
latencySeconds|0.001|9
memoryRatio|0.1|1
shedRate|0|
workerStalls|0|
staleSeconds|10|
keptRoutes|0|1
watchRestarts|0|
certificateDays|0|
certificateDaysCritical|0|
{{- end }}
{{- define "pingress.defaultNamespace" -}}
pingress-system
{{- end }}
{{- define "pingress.defaultRegistry" -}}
ghcr.io/pingress
{{- end }}
