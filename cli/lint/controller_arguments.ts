/**
 * Arguments of ingress-nginx's controller. In: those of one container, and how lint was started. Out: what
 * each one does there, and what has its effect here.
 *
 * https://kubernetes.github.io/ingress-nginx/user-guide/cli-arguments/
 */
import type { Verdict } from "./finding.ts";
import type { LintOptions } from "./options.ts";

export interface ArgumentFinding {
  readonly verdict: Verdict;
  readonly effect: string;
  readonly difference: string | null;
  readonly remedy: string | null;
}

/** What lint knows beside the arguments. */
export interface ArgumentContext extends
  Pick<
    LintOptions,
    "nginxClasses" | "controllerNames" | "watchNamespaces"
  > {
  /** Namespace of the Deployment, for `$(POD_NAMESPACE)`. */
  readonly namespace: string;
  /** Whether `--configmap` was given to lint. */
  readonly hasConfigMap: boolean;
  /** Whether an Ingress has a default backend, or a rule without a host. */
  readonly hasCatchAll: boolean;
}

type Judge = (value: string, context: ArgumentContext) => ArgumentFinding | null;

const DEFAULT_PREFIX = "nginx.ingress.kubernetes.io";

const FALSE: ReadonlySet<string> = new Set(["false", "f", "0"]);

/** By name, without the dashes. Null is the same here. */
const ARGUMENTS: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ["configmap", (value, { hasConfigMap }) =>
    hasConfigMap ? null : {
      verdict: "OPENS",
      effect: `settings of the ConfigMap ${value} hold for all Ingresses`,
      difference: "it is not checked; what it refuses would be forwarded",
      remedy: `Add --configmap ${value}, or name a file with it`,
    }],
  ["annotations-prefix", (value) =>
    value === DEFAULT_PREFIX ? null : {
      verdict: "OPENS",
      effect: `annotations begin with ${value}/`,
      difference: `only those that begin with ${DEFAULT_PREFIX}/ are read`,
      remedy: `Rename the annotations to ${DEFAULT_PREFIX}/…`,
    }],
  ["ingress-class", (value, { nginxClasses }) =>
    nginxClasses.includes(value) ? null : {
      verdict: "OPENS",
      effect: `serves the Ingresses of class ${value}`,
      difference: "they are not checked",
      remedy: `Add --nginx-class ${value}`,
    }],
  ["controller-class", (value, { controllerNames }) =>
    controllerNames.includes(value) ? null : {
      verdict: "OPENS",
      effect: `serves the classes with the controller ${value}`,
      difference: "their Ingresses are not checked",
      remedy: `Add --controller-name ${value}`,
    }],
  [
    "watch-namespace",
    (value, { watchNamespaces }) =>
      value === "" || (watchNamespaces.length === 1 && watchNamespaces[0] === value) ? null : {
        verdict: "OPENS",
        effect: `serves the Ingresses of namespace ${value} alone`,
        difference: "those of all namespaces are served",
        remedy: `Start the controller with --watch-namespace=${value}, and lint as well`,
      },
  ],
  ["watch-namespace-selector", () => ({
    verdict: "OPENS",
    effect: "serves the Ingresses of namespaces with these labels alone",
    difference: "those of all namespaces are served",
    remedy: "Start the controller with --watch-namespace, or give the others a class of their own",
  })],
  ["disable-catch-all", (value, { hasCatchAll }) =>
    FALSE.has(value) || !hasCatchAll ? null : {
      verdict: "OPENS",
      effect: "ignores Ingresses with a default backend, or a rule without a host",
      difference: "they are served",
      remedy: "Remove those Ingresses, or give them a class of their own",
    }],
  ["watch-ingress-without-class", (value) =>
    FALSE.has(value) ? null : {
      verdict: "BREAKS",
      effect: "serves Ingresses without a class",
      difference: "they are ignored by default",
      remedy: "Start the controller with --watch-ingress-without-class",
    }],
  ["default-backend-service", (value) => ({
    verdict: "DIFFERS",
    effect: `sends requests that match no Ingress to the Service ${value}`,
    difference: "without a default backend they get 404",
    remedy: `Start the controller with --default-backend=${value}:PORT`,
  })],
  ["default-ssl-certificate", (value) => ({
    verdict: "DIFFERS",
    effect: `shows the certificate of the Secret ${value} for hosts without one`,
    difference: "without a default certificate, clients get the TLS alert unrecognized_name",
    remedy: `Start the controller with --default-ssl-certificate=${value}`,
  })],
  ["tcp-services-configmap", (value) => streams("TCP", value)],
  ["udp-services-configmap", (value) => streams("UDP", value)],
  ["enable-ssl-chain-completion", (value) =>
    FALSE.has(value) ? null : {
      verdict: "DIFFERS",
      effect: "completes the chains of certificates",
      difference: "certificates are shown as the Secret has them",
      remedy: "Write the whole chain into tls.crt of the Secrets",
    }],
  ["enable-topology-aware-routing", (value) =>
    FALSE.has(value) ? null : {
      verdict: "DIFFERS",
      effect: "prefers endpoints of the same zone where EndpointSlices have hints",
      difference: "proxies prefer them where they know their zone",
      remedy: "Give the proxies --zone",
    }],
  ["update-status", (value) =>
    FALSE.has(value)
      ? {
        verdict: "DIFFERS",
        effect: "writes no status of Ingresses",
        difference: "it is written",
        remedy: "See docs/annotations.md on the status of classes",
      }
      : null],
]);

/** Without a counterpart, or always so; none of them changes what becomes of a request. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  ...["apiserver-host", "certificate-authority", "kubeconfig", "ingress-class-by-name"],
  ...["publish-service", "publish-status-address", "report-node-internal-ip-address"],
  ...["update-status-on-shutdown", "status-update-interval", "election-id", "election-ttl"],
  ...["disable-leader-election", "sync-period", "disable-sync-events", "profiling", "version"],
  ...["health-check-path", "health-check-timeout", "healthz-port", "healthz-host"],
  ...["enable-metrics", "metrics-per-host", "report-status-classes", "time-buckets"],
  ...["length-buckets", "size-buckets", "bucket-factor", "max-buckets", "exclude-socket-metrics"],
  ...["monitor-max-batch-size", "metrics-per-undefined-host", "http-port", "https-port"],
  ...["ssl-passthrough-proxy-port", "default-server-port", "status-port", "stream-port"],
  ...["profiler-port", "profiler-address", "internal-logger-address", "validating-webhook"],
  ...["validating-webhook-certificate", "validating-webhook-key", "disable-full-test"],
  ...["shutdown-grace-period", "post-shutdown-grace-period", "dynamic-configuration-retries"],
  // Each annotation is judged by itself, and paths are always checked.
  ...["enable-annotation-validation", "deep-inspect", "enable-ssl-passthrough"],
  // Services of this type are refused by default here.
  "disable-svc-external-name",
  ...["maxmind-edition-ids", "maxmind-license-key", "maxmind-mirror", "maxmind-retries-count"],
  ...["maxmind-retries-timeout", "v", "vmodule", "logtostderr", "alsologtostderr", "log_dir"],
  ...["log_file", "log_file_max_size", "log_backtrace_at", "stderrthreshold", "skip_headers"],
  ...["skip_log_headers", "one_output", "add_dir_header"],
]);

export const KNOWN_ARGUMENTS: readonly string[] = [...ARGUMENTS.keys(), ...WITHOUT_EFFECT];

/** One finding for each argument that has one; `words` are those of `command` and `args`. */
export function argumentFindings(
  words: readonly string[],
  context: ArgumentContext,
): readonly (ArgumentFinding & { readonly name: string })[] {
  return [...argumentsOf(words)].flatMap(([name, text]) => {
    const value = text.replaceAll("$(POD_NAMESPACE)", context.namespace);
    const judge = ARGUMENTS.get(name);
    const finding = judge !== undefined
      ? judge(value, context)
      : WITHOUT_EFFECT.has(name)
      ? null
      : UNKNOWN;
    return finding === null ? [] : [{ ...finding, effect: `--${name}: ${finding.effect}`, name }];
  });
}

const UNKNOWN: ArgumentFinding = {
  verdict: "DIFFERS",
  effect: "is no argument of ingress-nginx that is known here",
  difference: "what it does is not checked",
  remedy: "Check by hand what it does",
};

function streams(protocol: string, value: string): ArgumentFinding | null {
  return value === "" ? null : {
    verdict: "BREAKS",
    effect: `forwards ${protocol} connections as the ConfigMap ${value} says`,
    difference: `${protocol} is not forwarded`,
    remedy: "Give those Services a type LoadBalancer of their own",
  };
}

/** `--flag=value`, `--flag value`, and `--flag` alone, which is true; the last one counts. */
export function argumentsOf(words: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [i, word] of words.entries()) {
    const match = /^--?([a-z][a-z0-9_-]{0,63})(?:=|$)/.exec(word);
    if (match === null) continue;
    const [start, name] = match;
    const next = words[i + 1];
    const value = start.endsWith("=")
      ? word.slice(start.length)
      : next === undefined || next.startsWith("-")
      ? "true"
      : next;
    found.set(name, value);
  }
  return found;
}
