/**
 * The values of the chart. In: the values that are flags. Out: the tree of all values, each with its
 * text, its schema and its default.
 */
import { ALERTS } from "../alerts/groups.ts";
import { type Threshold, THRESHOLDS } from "../alerts/thresholds.ts";
import { CONTROLLER_FLAGS, PROXY_FLAGS } from "./flag_values.ts";
import type { JsonSchema, Value, ValueTree } from "./value.ts";

/** Of the images in the manifests. */
export const REGISTRY = "ghcr.io/pingress";

const DIGEST = "^(sha256:[0-9a-f]{64})?$";
/** What the API server takes as spec.controller of an IngressClass. */
const CONTROLLER_NAME = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*" +
  "/[A-Za-z0-9/._~%!$&'()*+,;=:-]+$";
/** From 100 ms to 10 minutes, as `pingress check` takes it. */
const CHECK_TIMEOUT =
  "^(([1-9][0-9]{2,4}|[1-5][0-9]{5}|600000)ms|([1-9][0-9]?|[1-5][0-9]{2}|600)s|" +
  "([1-9]|10)m|[1-9]m([1-9]|[1-5][0-9])s)$";
const TEXT_MAP: JsonSchema = { type: "object", additionalProperties: { type: "string" } };
const OBJECT: JsonSchema = { type: "object" };
const OBJECTS: JsonSchema = { type: "array", items: { type: "object" } };

function flag(help: string, fallback: boolean): Value {
  return { help, schema: { type: "boolean" }, default: fallback };
}

function text(help: string, fallback: string, pattern?: string): Value {
  const schema = { type: "string", ...(pattern === undefined ? {} : { pattern }) };
  return { help, schema, default: fallback };
}

function map(help: string, schema: JsonSchema = TEXT_MAP, fallback: unknown = {}): Value {
  return { help, schema, default: fallback };
}

function list(
  help: string,
  schema: JsonSchema = OBJECTS,
  fallback: readonly unknown[] = [],
): Value {
  return { help, schema, default: fallback };
}

const INTERVAL = text(
  "Interval between scrapes. Empty: that of Prometheus.",
  "",
  "^([0-9]+(ms|s|m|h))*$",
);

export const VALUES: ValueTree = {
  image: {
    help: "Images of the controller and of the proxies that it starts.",
    values: {
      registry: text(
        "Registry and path of both images, without a slash at the end.",
        REGISTRY,
        "^[A-Za-z0-9._-]+(:[0-9]+)?(/[a-z0-9._-]+)*$",
      ),
      tag: text(
        "Tag of both images. Empty: the version of the chart's app.",
        "",
        "^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$",
      ),
      controllerDigest: text("Digest of the controller's image, like sha256:….", "", DIGEST),
      proxyDigest: text("Digest of the proxies' image, like sha256:….", "", DIGEST),
      pullPolicy: {
        help: "imagePullPolicy of the controller.",
        schema: { enum: ["Always", "IfNotPresent", "Never"] },
        default: "IfNotPresent",
      },
      pullSecrets: list(
        "Names of image pull Secrets in the namespace of the release, for controller and proxies.",
        { type: "array", items: { type: "string", minLength: 1 } },
      ),
    },
  },
  controller: {
    help: "The controller.",
    values: {
      replicas: {
        help:
          "One replica leads and writes; another takes over within two seconds if the leader is " +
          "stopped.",
        schema: { type: "integer", minimum: 0, maximum: 100 },
        default: 2,
      },
      flags: {
        help:
          "Flags of the controller, named as in docs/flags.md: gatherTime is --gather-time. A " +
          "flag without a value here is not passed. --namespace is the namespace of the release.",
        values: CONTROLLER_FLAGS,
      },
      resources: map(
        "Resources of the container. Enough for 10,000 Ingresses with 1,000 certificates.",
        OBJECT,
        {
          requests: { cpu: "50m", memory: "160Mi" },
          limits: { memory: "512Mi" },
        },
      ),
      podLabels: map("Further labels of the pods."),
      podAnnotations: map("Further annotations of the pods."),
      nodeSelector: map("Node selector of the pods."),
      tolerations: list("Tolerations of the pods."),
      affinity: map("Affinity of the pods.", OBJECT),
      priorityClassName: text("PriorityClass of the pods. Empty: the default of the cluster.", ""),
      podDisruptionBudget: {
        help:
          "A PodDisruptionBudget for the controller. Proxies of the backend LoadBalancer have one " +
          "by the controller.",
        values: {
          create: flag("Creates it.", false),
          maxUnavailable: {
            help: "spec.maxUnavailable.",
            schema: { type: ["integer", "string"], pattern: "^[0-9]+%$", minimum: 0 },
            default: 1,
          },
        },
      },
    },
  },
  proxy: {
    help: "The proxies. The controller creates them, with their Service, PodDisruptionBudget and " +
      "HorizontalPodAutoscaler: their number is controller.flags.proxyReplicas, the " +
      "autoscaler is controller.flags.proxyMaxReplicas and proxyCpuTarget.",
    values: {
      flags: {
        help:
          "Flags of the proxies, named as in docs/flags.md: workers is --workers. A flag without " +
          "a value here is not passed. The controller sets listeners, admin port, workers and memory " +
          "limit unless they are set here.",
        values: PROXY_FLAGS,
      },
      podTemplate: map(
        "Parts of a pod template, merged into the proxies' as by kubectl patch: docs/workload.md. " +
          "Resources, tolerations, affinity and annotations of proxies belong here.",
        OBJECT,
      ),
    },
  },
  rbac: {
    help: "Service accounts, roles and bindings.",
    values: {
      create: flag("Creates them. Without them, create those of manifests/hostport.yaml.", true),
      scope: {
        help: "cluster: a ClusterRole for all namespaces. namespaces: Roles in the namespaces of " +
          "controller.flags.watchNamespace only; nodes cannot be read then, so set " +
          "controller.flags.publishAddress with the backend HostPort.",
        schema: { enum: ["cluster", "namespaces"] },
        default: "cluster",
      },
    },
  },
  ingressClass: {
    help: "The IngressClass.",
    values: {
      create: flag("Creates it.", true),
      name: text("Its name.", "pingress", "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"),
      controller: text(
        "spec.controller, which is immutable: clusters that ran the Pingress Controller in Rust have " +
          "this one. Both this and pingress.io/ingress-controller are served.",
        "networking.kinorca.com/pingress-controller",
        CONTROLLER_NAME,
      ),
      isDefault: flag("Makes it the default class of the cluster.", false),
      annotations: map("Further annotations, such as pingress.io/profile: nginx."),
    },
  },
  nginxClass: {
    help: "A second IngressClass, for Ingresses written for ingress-nginx (docs/annotations.md).",
    values: {
      create: flag("Creates it.", false),
      name: text("Its name.", "pingress-nginx", "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"),
    },
  },
  gateway: {
    help:
      "Gateway API: a GatewayClass, the rights to serve it, and the policies that limit them. " +
      "Requires Kubernetes 1.30. Install the CRDs of Gateway API first: this chart never contains " +
      "them, since Helm does not upgrade CRDs, and deleting them deletes all Gateways.",
    values: {
      create: flag("Creates them.", false),
      className: text(
        "Name of the GatewayClass.",
        "pingress",
        "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$",
      ),
      furtherClasses: list(
        "Names of further GatewayClasses with controllerName pingress.io/gateway-controller, which " +
          "you create.",
        { type: "array", items: { type: "string", minLength: 1 } },
      ),
    },
  },
  admission: {
    help:
      "ValidatingAdmissionPolicies that limit what the controller's account can write, and who " +
      "may use the PriorityClass of the proxies (docs/deploy.md). Requires Kubernetes 1.30.",
    values: {
      create: flag("Creates them.", false),
      imagePrefix: text(
        "Images of proxies must begin with this; it ends with a slash. Empty: image.registry.",
        "",
        "^(.+/)?$",
      ),
    },
  },
  priorityClass: {
    help:
      "The PriorityClass pingress-proxy of the proxies: on a full node, pods of applications are " +
      "evicted in favour of the proxy.",
    values: {
      create: flag(
        "Creates it, and gives it to the proxies unless controller.flags.proxyPriorityClass names " +
          "another one.",
        true,
      ),
      value: {
        help: "Its value.",
        schema: { type: "integer", minimum: -2147483648, maximum: 1000000000 },
        default: 1_000_000,
      },
    },
  },
  networkPolicy: {
    help: "NetworkPolicies for the ports of controller and proxies (docs/security.md).",
    values: {
      create: flag("Creates them.", true),
      metricsFrom: list(
        "Peers that may scrape metrics.",
        OBJECTS,
        [{ namespaceSelector: { matchLabels: { "pingress.io/metrics": "allowed" } } }],
      ),
    },
  },
  podMonitor: {
    help:
      "PodMonitors of the Prometheus operator, for controller and proxies. Excludes serviceMonitor.",
    values: {
      create: flag("Creates them.", false),
      labels: map("Labels by which Prometheus selects them."),
      interval: INTERVAL,
    },
  },
  serviceMonitor: {
    help:
      "ServiceMonitors of the Prometheus operator instead of podMonitor, with a headless Service " +
      "for each.",
    values: {
      create: flag("Creates them.", false),
      labels: map("Labels by which Prometheus selects them."),
      interval: INTERVAL,
    },
  },
  prometheusRule: {
    help:
      "PrometheusRules of the Prometheus operator, one for each file in files/alerts of the chart. " +
      "They are about this release only. docs/alerts.md has a runbook for each alert.",
    values: {
      create: flag("Creates them.", false),
      labels: map("Labels by which Prometheus selects them."),
      alertLabels: map(
        "Further labels of each alert, by which Alertmanager routes them. Not severity and " +
          "installation, which each alert has itself.",
      ),
      disabled: list("Names of alerts that are left out.", {
        type: "array",
        items: { enum: ALERTS.map(({ name }) => name) },
      }),
      thresholds: {
        help: "Thresholds of the alerts.",
        values: Object.fromEntries(
          Object.entries(THRESHOLDS as Readonly<Record<string, Threshold>>).map((
            [name, { help, default: fallback, minimum, maximum }],
          ) => [name, {
            help,
            schema: {
              type: ["number", "string"],
              pattern: "^[0-9]{1,9}(\\.[0-9]{1,9})?$",
              minimum,
              ...(maximum === undefined ? {} : { maximum }),
            },
            default: fallback,
          }]),
        ),
      },
    },
  },
  dashboards: {
    help:
      "ConfigMaps with dashboards for Grafana's sidecar, one for each file in files/dashboards of " +
      "the chart.",
    values: {
      create: flag("Creates them.", false),
      labels: map("Labels by which the sidecar selects them.", TEXT_MAP, {
        grafana_dashboard: "1",
      }),
      annotations: map("Annotations, such as grafana_folder."),
    },
  },
  check: {
    help:
      "helm test runs pingress check in a pod with read-only rights, which exist during the test.",
    values: {
      create: flag("Has helm test run it.", true),
      timeout: text("--timeout of pingress check.", "30s", CHECK_TIMEOUT),
    },
  },
};
