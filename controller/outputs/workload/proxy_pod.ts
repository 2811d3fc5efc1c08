/**
 * The pod that a proxy runs in. In: the workload's options. Out: its PodTemplateSpec, before what a
 * user's pod template changes in it.
 *
 * It is what the pod security standard `restricted` asks for, but for the host ports that HostPort
 * needs: https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
import { PROXY_PORTS } from "../../../shared/net/proxy_ports.ts";
import {
  configFileName,
  configKey,
  configMapName,
  FORMAT_1,
  keySecretName,
  MAX_KEY_SECRETS,
  MAX_PARTS,
} from "../../../shared/snapshot/published_set.ts";
import { SNAPSHOT_FORMAT } from "../../../shared/snapshot/types.ts";
import type { JsonObject } from "../../base/json.ts";
import { CONFIG_FOLDER, OWNER_LABELS, PROXY_NAME, PUBLIC_PORTS, STREAM } from "./names.ts";
import type { WorkloadOptions } from "./options.ts";
import { MEMORY_LIMIT_VARIABLE } from "./proxy_args.ts";

/** Of the volume with all that is published. */
export const CONFIG_VOLUME = "config";

/** `nonroot` of distroless images; any but 0 would do. */
const USER = 65_532;

/** From the last cut connection to the end of the process, in seconds; it needs far less. */
const GRACE_MARGIN = 15;

/** Seconds between two readiness probes: how late at most a Service learns of a pod. */
const READINESS_PERIOD = 5;

const RESOURCES = {
  requests: {
    // About 10,000 small requests a second by bench/README.md; an autoscaler's percents are of it.
    cpu: "250m",
    // Four workers hold 150 MiB before the first request; the rest is for routes and buffers.
    memory: "256Mi",
  },
  limits: {
    // Room for bursts; the proxy knows it, and sheds load before the kernel would kill it.
    memory: "1Gi",
    // No CPU limit: a throttled proxy stands still for up to 100 ms with every request in it.
  },
};

/** @param selector are the labels by which the workload finds its pods. */
export function proxyPod(
  options: WorkloadOptions,
  selector: Readonly<Record<string, string>>,
  args: readonly string[],
): JsonObject {
  const { backend, imagePullSecrets, nodeSelector, priorityClass, stream } = options;
  return {
    metadata: { labels: { ...OWNER_LABELS, ...selector } },
    spec: {
      // The proxy talks to no API: no token that one takes, and no variable for each Service of the
      // namespace. The account may do nothing: it is the name by which the controller knows proxies.
      ...(stream ? { serviceAccountName: STREAM.serviceAccount } : {}),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      nodeSelector: { "kubernetes.io/os": "linux", ...nodeSelector },
      ...(priorityClass === null ? {} : { priorityClassName: priorityClass }),
      ...(imagePullSecrets.length === 0
        ? {}
        : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
      terminationGracePeriodSeconds: gracePeriod(options),
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        // Makes the mounted keys, mode 0440, readable to that user and nobody else.
        fsGroup: USER,
        seccompProfile: { type: "RuntimeDefault" },
      },
      ...(backend === "LoadBalancer" ? { topologySpreadConstraints: spreadOver(selector) } : {}),
      containers: [{
        name: PROXY_NAME,
        image: options.image,
        args,
        env: [{
          name: MEMORY_LIMIT_VARIABLE,
          valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1" } },
        }],
        ports: [
          containerPort("http", backend),
          containerPort("https", backend),
          { name: "admin", containerPort: PROXY_PORTS.admin, protocol: "TCP" },
        ],
        resources: RESOURCES,
        ...probes(options),
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
        // Why a proxy ended stands in the pod's status, where the controller finds it.
        terminationMessagePolicy: "FallbackToLogsOnError",
        volumeMounts: [{ name: CONFIG_VOLUME, mountPath: CONFIG_FOLDER, readOnly: true }],
      }],
      volumes: [{
        name: CONFIG_VOLUME,
        projected: {
          defaultMode: 0o440,
          sources: [...publishedSources(), ...(stream ? streamSources() : [])],
        },
      }],
    },
  };
}

/** Seconds that a pod has from SIGTERM to SIGKILL. */
function gracePeriod({ drainDelay, drainTimeout }: WorkloadOptions): number {
  return Math.ceil((drainDelay + drainTimeout) / 1000) + GRACE_MARGIN;
}

function containerPort(name: "http" | "https", backend: WorkloadOptions["backend"]): JsonObject {
  return {
    name,
    containerPort: PROXY_PORTS[name],
    protocol: "TCP",
    ...(backend === "HostPort" ? { hostPort: PUBLIC_PORTS[name] } : {}),
  };
}

function probes({ drainDelay }: WorkloadOptions): JsonObject {
  const get = (path: string) => ({ httpGet: { path, port: "admin" } });
  return {
    // Reading ten thousand routes and a thousand keys for the first time may take a while.
    startupProbe: {
      ...get("/healthz"),
      periodSeconds: 1,
      timeoutSeconds: 3,
      failureThreshold: 120,
    },
    // A restart cuts every connection, so it is the last thing to try.
    livenessProbe: {
      ...get("/healthz"),
      periodSeconds: 10,
      timeoutSeconds: 5,
      failureThreshold: 6,
    },
    readinessProbe: {
      ...get("/readyz"),
      periodSeconds: READINESS_PERIOD,
      timeoutSeconds: 3,
      // /readyz fails from SIGTERM on, while the proxy still accepts for the drain delay. While
      // the pod passes for ready, kube-proxy sends it what still comes to a node whose last one it
      // is (KEP-1669); load balancers are told at once, by the pod's deletion.
      failureThreshold: Math.max(2, Math.ceil(drainDelay / 1000 / READINESS_PERIOD) + 1),
    },
  };
}

/** One pod a node and equally many a zone where that can be had; else anywhere. */
function spreadOver(selector: Readonly<Record<string, string>>): JsonObject[] {
  return ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map((topologyKey) => ({
    topologyKey,
    maxSkew: 1,
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: selector },
    // Else pods of the old template would count in a rollout, and the new ones end up together.
    matchLabelKeys: ["pod-template-hash"],
  }));
}

/**
 * Everything that the controller may ever publish, each optional: a configuration that grows into
 * more objects changes no pod template, and a missing one stops no pod. Format 1 is what proxies
 * start from that start before the controller of their version has published anything.
 */
function publishedSources(): JsonObject[] {
  return [
    ...[FORMAT_1, SNAPSHOT_FORMAT].flatMap((format) =>
      Array.from({ length: MAX_PARTS + 1 }, (_, index) => ({
        configMap: {
          name: configMapName(index, format),
          optional: true,
          items: [{ key: configKey(format), path: configFileName(index, format) }],
        },
      }))
    ),
    ...Array.from({ length: MAX_KEY_SECRETS }, (_, index) => ({
      secret: { name: keySecretName(index), optional: true },
    })),
  ];
}

/** By what a proxy knows the controller, and the controller a proxy. */
function streamSources(): JsonObject[] {
  const { authority, bundleKey, bundleFile, audience, tokenLife, tokenFile } = STREAM;
  return [
    {
      configMap: {
        name: authority,
        optional: true,
        items: [{ key: bundleKey, path: bundleFile }],
      },
    },
    { serviceAccountToken: { audience, expirationSeconds: tokenLife, path: tokenFile } },
  ];
}
