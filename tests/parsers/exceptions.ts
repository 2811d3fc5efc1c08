/**
 * Functions with text or bytes that have no row in the table of parsers. In: nothing. Out: their
 * names, and why their time needs no measurement.
 */

import { CARRIERS } from "./carriers.ts";
import { SHORT_TEXTS } from "./short_texts.ts";

export interface Exceptions {
  /** Of all of these. */
  readonly reason: string;
  /** Functions, `Class.method` or `new Class`, by file. */
  readonly functions: Readonly<Record<string, readonly string[]>>;
}

export const EXCEPTIONS: readonly Exceptions[] = [
  ...SHORT_TEXTS,
  ...CARRIERS,
  {
    reason: "Its texts are of the program; what it makes reads values, and is measured.",
    functions: {
      "cli/codes/catalogue.ts": ["isSituation"],
      "controller/translate/annotations/nginx/rows/row.ts": [
        "always",
        "differs",
        "flag",
        "instead",
      ],
      "controller/translate/annotations/nginx/rows/value.ts": [
        "correction",
        "invalid",
        "listOf",
        "text",
      ],
      "controller/translate/config_map/key.ts": ["defaultOf", "globalAuth", "guard", "plain"],
      "controller/kube/client.ts": ["KubeClient.discover"],
      "controller/kube/informer.ts": ["Informer.useVersion"],
      "controller/watch/gateway_bundle.ts": ["GatewayBundle.discovered"],
      "controller/watch/watches.ts": ["Watches.mayList"],
      "controller/translate/gateway/objects/condition.ts": [
        "atField",
        "falseCondition",
        "trueCondition",
      ],
      "controller/translate/gateway/served_routes.ts": ["broken"],
      "controller/translate/gateway/sharing/shared_ports.ts": ["crowdedOut"],
    },
  },
  {
    reason: "The operator wrote it: flags, files and the environment of a process.",
    functions: {
      "controller/kube/credential_source.ts": ["serverOf"],
      "controller/kube/kubeconfig/kubeconfig.ts": ["readKubeconfig"],
      "shared/yaml/guarded_yaml.ts": ["readGuardedYaml"],
      "shared/yaml/syntax_fault.ts": ["fault", "syntaxFault", "thrownFault"],
      "controller/cli/option_values.ts": [
        "acceptCheck",
        "labelCheck",
        "namesOf",
        "parseAnnotation",
        "parseConfigMapName",
        "parseDefaultBackend",
        "parseLabels",
        "parseSecretName",
      ],
      "controller/cli/options.ts": ["parseControllerOptions", "readEnvironment"],
      // An annotation of CRDs.
      "controller/outputs/gateway_status/class_status.ts": ["isSupportedBundle"],
      // The ConfigMap of --configmap, and classes, which have no namespace.
      "controller/translate/config_map/global_settings.ts": [
        "GlobalSettingsReader.read",
        "fieldOfKey",
      ],
      "controller/translate/annotations/nginx/nginx_annotations.ts": ["NginxAnnotations.withTexts"],
      "controller/translate/config_map/key.ts": ["isKeyOff"],
      "controller/translate/ingress/class.ts": ["servesNginx"],
      "controller/outputs/workload/objects.ts": ["allWorkloadRefs"],
      "controller/outputs/workload/pod_template.ts": ["mergePodTemplate"],
      "controller/outputs/workload/projection.ts": ["projection"],
      "controller/outputs/workload/proxy_pod.ts": ["proxyPod"],
      "controller/outputs/workload/strategic_merge.ts": ["idOf", "strategicMerge"],
      "proxy/config/config_formats.ts": ["new ConfigFormats"],
      "proxy/config/stream/controller_address.ts": ["parseControllerUrl"],
      "proxy/process/data_plane.ts": ["LocalPlane.setZone"],
      "proxy/telemetry/access_log/options.ts": ["parseFields"],
      "proxy/process/launcher.ts": ["startProxy"],
      "proxy/cli/options.ts": ["parseProxyOptions"],
      "proxy/cli/permissions.ts": ["exporterRights", "nameServersOf", "supervisorRights"],
      "proxy/telemetry/traces/options.ts": ["dialledHost", "parseOtlpEndpoint"],
      "proxy/config/stream/credentials.ts": ["readToken"],
      "shared/net/address.ts": [
        "describeListenError",
        "isAddressMissing",
        "isPortPrivileged",
        "isPortTaken",
        "parseAddress",
      ],
      "shared/net/port_range.ts": ["parsePortRange"],
      "shared/net/cidr.ts": ["CidrList.parse"],
      "shared/nearest_name.ts": ["nearestName"],
      "shared/options.ts": ["flagName", "formatFlag", "parseOptions"],
      "shared/rights.ts": ["missingRight"],
    },
  },
  {
    reason: "One pass over the objects that are there, for those of them that few changes concern.",
    functions: {
      "controller/base/memo.ts": ["placesOf"],
      "proxy/router/losers.ts": ["aliasedHost"],
      "controller/translate/certificates/certificate_source.ts": [
        "CertificateSources.changedSince",
      ],
      "controller/translate/certificates/tls_index.ts": [
        "TlsIndex.group",
        "TlsIndex.hasSecret",
        "new TlsIndex",
      ],
    },
  },
  {
    reason: "Reads an object that the controller writes itself.",
    functions: {
      "controller/kube/lease.ts": ["heldSpec", "standingOf"],
      "controller/stream/ca/certificate_authority.ts": ["nextStep"],
      "controller/reconcile/version.ts": ["nextVersion"],
      "controller/outputs/workload/ownership.ts": ["hasApplied", "isOurs", "takeoverPatch"],
    },
  },
  {
    reason: "A part of `parseSnapshot`, by which rows read it, or the files that it is given.",
    functions: {
      "proxy/config/config_file.ts": ["decodeConfig", "readBytes", "readConfigFile", "stampOf"],
      "proxy/config/published_set.ts": ["readPublishedSet", "withKeys"],
      "shared/snapshot/format1.ts": ["fromFormat1"],
      "shared/snapshot/forward_action.ts": ["forwardTo"],
      "shared/snapshot/references.ts": ["strayOfAction"],
      "shared/snapshot/config_check.ts": [
        "ConfigCheck.array",
        "ConfigCheck.error",
        "ConfigCheck.member",
        "ConfigCheck.name",
        "ConfigCheck.object",
        "ConfigCheck.oneOf",
        "ConfigCheck.port",
        "ConfigCheck.refuse",
        "ConfigCheck.string",
        "ConfigCheck.unknownFields",
        "ConfigCheck.warn",
        "describe",
        "isObject",
        "isPort",
        "kindOf",
      ],
      "shared/snapshot/legacy_config.ts": ["legacySnapshot"],
      "shared/snapshot/published_set.ts": ["isKeySecretName", "isSha256", "readSet", "sha256Of"],
    },
  },
  {
    reason:
      "Called for a request of /explain, which this machine alone may send; compares a head of at " +
      "most 16 KiB with the names of Gateways.",
    functions: { "proxy/process/explained_listener.ts": ["explainedListener"] },
  },
  {
    reason:
      "Reads what a command is given by who has started it, and can stop it; nothing waits for it.",
    functions: {
      "cli/codes/code_text.ts": ["plain"],
      "cli/codes/codes.ts": ["findCode", "main"],
      "cli/completion/completed_command.ts": ["completedCommand"],
      "cli/completion/completion.ts": ["main"],
      "cli/completion/offers.ts": ["offersFor"],
      "cli/diff/change_text.ts": ["routeLine"],
      "cli/diff/comparison.ts": ["compare"],
      "cli/diff/diff.ts": ["main"],
      "cli/diff/git_tree.ts": ["readTree"],
      "cli/diff/options.ts": ["parseDiffOptions"],
      "cli/diff/side.ts": ["readCommit", "readFolder", "sideOf"],
      "cli/cluster_state/cluster_objects.ts": ["readClusterObjects"],
      "cli/cluster_state/cluster_plan.ts": ["clusterPlan"],
      "cli/cluster_state/shown_snapshot.ts": ["readShownSnapshot"],
      "cli/diff/cluster_sides.ts": ["readClusterSides"],
      "cli/diff/overlay.ts": ["overlay"],
      "cli/explain/explain.ts": ["main", "runExplain"],
      "cli/explain/options.ts": ["parseExplainOptions"],
      "cli/explain/proxy_page.ts": ["proxyExplanation"],
      "cli/lint/command.ts": ["main"],
      "cli/main.ts": ["main"],
      "cli/output_option.ts": ["shortFlagOf", "withLongNames"],
      "cli/terminal/output.ts": ["Output.write"],
      "cli/terminal/progress.ts": ["ProgressLine.step", "new ProgressLine"],
      "cli/terminal/style.ts": ["isDumb", "takesColours"],
      "cli/terminal/wrapped_lines.ts": ["wrapLine"],
      "cli/version/version.ts": ["main"],
      "shared/wrapped_text.ts": ["wrapText"],
      "cli/lint/annotation_findings.ts": ["annotationFindings"],
      "cli/lint/assumed_services.ts": ["assumedServices"],
      "cli/lint/cluster_findings.ts": ["findConfigMap"],
      "cli/lint/controller_arguments.ts": ["argumentFindings", "argumentsOf"],
      "cli/lint/first_wins.ts": ["firstOfHost"],
      "cli/lint/judgement.ts": ["judge", "translateOptions"],
      "cli/lint/left_out.ts": ["leftOut", "leftOutOfCluster"],
      "cli/lint/live.ts": ["readLive"],
      "cli/lint/main.ts": ["main"],
      "cli/lint/options.ts": ["parseLintCommand"],
      "cli/lint/regex_mode.ts": ["regexNeighbours"],
      "cli/lint/unsupported_patterns.ts": ["unsupportedNeighbours"],
    },
  },
  {
    reason:
      "Reads what a cluster shows to who has started the command, and can stop it; nothing waits for it.",
    functions: {
      "cli/check/main.ts": ["main"],
      "cli/check/reading.ts": ["readFacts"],
      "cli/check/rights_reader.ts": ["readUserRights"],
      "cli/check/result.ts": ["failed", "ok", "skipped", "unchecked", "warning"],
      "cli/cluster/cluster.ts": ["clusterRights", "openCluster"],
      "cli/cluster/credential_plugin.ts": ["pluginOf", "readExecCredential"],
      "cli/cluster/last_trouble.ts": ["LastTrouble.noted"],
      "cli/cluster/options.ts": ["clusterChoice", "credentialSource", "defaultKubeconfig"],
      "cli/cluster/plugin_process.ts": ["new PluginProcess", "pluginRights"],
      "cli/cluster/readings.ts": ["portOf", "readJsonPage", "readObject", "readPage"],
      "cli/cluster/unread.ts": ["unreadOf"],
      "cli/installation/certificate_reader.ts": ["firstPage", "readCertificates"],
      "cli/installation/certificates.ts": ["certificatesOfSnapshot"],
      "cli/installation/installation.ts": ["readInstallation", "versionOf"],
      "cli/installation/problems_page.ts": ["readProblemsPage"],
      "cli/installation/proxies_page.ts": ["readProxiesPage"],
      "cli/status/main.ts": ["main"],
      "cli/terminal/display_width.ts": ["beginningOf", "displayWidth", "endOf"],
      "cli/terminal/remedy_lines.ts": ["remedyLines"],
      "cli/terminal/table.ts": ["cut", "tableLines"],
    },
  },
  {
    reason: "Visits each host and Ingress of a group once, by sets; reads no text.",
    functions: {
      "controller/translate/bounds/cluster_sizes.ts": ["Scale.totalOf"],
      "controller/translate/certificates/plain_hosts.ts": ["PlainHosts.of"],
      "controller/translate/routes/host_index.ts": [
        "HostIndex.group",
        "HostIndex.isNamed",
        "HostIndex.names",
      ],
      "controller/translate/statuses.ts": ["StatusCollector.collect"],
      "proxy/router/aliases.ts": ["Aliases.hostOf", "Aliases.of", "Aliases.update"],
    },
  },
  {
    reason:
      "One pass over lists that the CRDs of Gateway API bound: 8 conditions, 32 parents of a " +
      "route, 64 listeners of a Gateway.",
    functions: {
      "controller/outputs/gateway_status/class_finalizer.ts": ["wantedFinalizers"],
      "controller/outputs/gateway_status/class_status.ts": ["classChange"],
      "controller/outputs/gateway_status/listener_set_status.ts": ["listenerSetChange"],
      "controller/outputs/gateway_status/conditions.ts": ["mergeConditions"],
      "controller/outputs/gateway_status/gateway_status.ts": ["gatewayChange"],
      "controller/outputs/gateway_status/route_status.ts": ["hasOurParents", "routeChange"],
      "controller/outputs/gateway_status/status_change.ts": ["statusChange"],
    },
  },
];
