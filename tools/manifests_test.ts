import { ok } from "node:assert/strict";
import { join } from "node:path";
import { asList, fieldOf } from "../controller/base/json.ts";
import { workloadObjects } from "../controller/outputs/workload/objects.ts";
import { parseObjects } from "./kubectl.ts";

const MANIFEST = join(import.meta.dirname!, "..", "manifests", "pingress-controller.yaml");

const PROBES = ["startupProbe", "livenessProbe", "readinessProbe"] as const;

/** Kubernetes' defaults: https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/ */
const PROBE_DEFAULTS = { timeoutSeconds: 1, periodSeconds: 10, failureThreshold: 3 };

/** The first container of a workload's pods. */
function containerOf(workload: unknown): unknown {
  const template = fieldOf(fieldOf(workload, "spec"), "template");
  return asList(fieldOf(fieldOf(template, "spec"), "containers"))?.[0];
}

/** How long one response may take, and how long none may come, in seconds. */
function patience(container: unknown, probe: string): { timeout: number; silence: number } {
  const of = (name: keyof typeof PROBE_DEFAULTS) =>
    Number(fieldOf(fieldOf(container, probe), name) ?? PROBE_DEFAULTS[name]);
  return {
    timeout: of("timeoutSeconds"),
    silence: of("periodSeconds") * of("failureThreshold"),
  };
}

Deno.test("the controller's probes have the same timeout as the proxies'", () => {
  const deployment = parseObjects(Deno.readTextFileSync(MANIFEST))
    .find(({ kind }) => kind === "Deployment");
  const proxies = workloadObjects({
    backend: "HostPort",
    namespace: "pingress-system",
    image: "proxy:1",
    imagePullSecrets: [],
    nodeSelector: {},
    replicas: 2,
    autoscale: null,
    serviceType: "LoadBalancer",
    priorityClass: null,
    // Proxies stay ready while they drain; nothing is sent to a controller that ends.
    drainDelay: 0,
    drainTimeout: 300_000,
    stream: true,
    proxyArgs: [],
    podTemplate: null,
  }).apply.find(({ kind }) => kind === "DaemonSet");
  for (const probe of PROBES) {
    const controller = patience(containerOf(deployment), probe);
    const proxy = patience(containerOf(proxies), probe);
    ok(
      controller.timeout >= proxy.timeout && controller.silence >= proxy.silence,
      `${probe}: ${JSON.stringify({ controller, proxy })}`,
    );
  }
});
