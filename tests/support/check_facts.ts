/** Facts of a sound installation. In: what differs. Out: facts for `pingress check` and `pingress status`. */
import { parseControllerOptions } from "../../controller/cli/options.ts";
import type { KubeObject } from "../../controller/kube/types.ts";
import type { CheckFacts } from "../../cli/check/facts.ts";
import { USER_RIGHTS } from "../../cli/check/right.ts";
import type { Reading } from "../../cli/cluster/readings.ts";
import type { ControllerPages, Installation } from "../../cli/installation/installation.ts";
import type { ConnectedProxy } from "../../cli/installation/proxies_page.ts";
import type { ShownProblem } from "../../cli/installation/problems_page.ts";

export const NOW = Date.parse("2026-11-01T00:00:00Z");

const DAY = 24 * 60 * 60 * 1000;

export function value<T>(value: T): Reading<T> {
  return { ok: true, value };
}

/** As for a user without the right. */
export function denied(verb: string, resource: string): Extract<Reading<never>, { ok: false }> {
  return {
    ok: false,
    code: 403,
    unread: {
      message: `cannot ${verb} ${resource}: forbidden`,
      remedy: `Allow the verb ${verb} on ${resource}`,
    },
  };
}

export function object(
  name: string,
  more: Readonly<Record<string, unknown>> = {},
  meta: Partial<KubeObject["metadata"]> = {},
): KubeObject {
  return { metadata: { name, ...meta }, ...more };
}

/** A pod that is ready, of an image. */
export function pod(name: string, image = "proxy:1", isReady = true): KubeObject {
  return object(name, {
    spec: { containers: [{ name: "main", image }], nodeName: "node-1" },
    status: { conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
  }, { namespace: "pingress-system", creationTimestamp: new Date(NOW - DAY).toISOString() });
}

export function connectedProxy(name: string, more: Partial<ConnectedProxy> = {}): ConnectedProxy {
  return {
    ...{ name, node: "node-1", zone: null, build: "1.0.0", isInSync: true },
    ...{ lastSync: null, unsentBytes: 0, hash: "h", refused: null, obstacles: [] },
    ...more,
  };
}

export function problem(reason: string, more: Partial<ShownProblem> = {}): ShownProblem {
  return {
    ...{ object: "Ingress shop/web", field: "", reason, severity: "error" },
    message: "the Service does not exist",
    remedy: "Create it",
    ...more,
  };
}

export function ingress(name: string, spec: Readonly<Record<string, unknown>> = {}): KubeObject {
  return object(name, {
    spec: {
      ingressClassName: "pingress",
      rules: [{
        host: `${name}.example.com`,
        http: { paths: [{ backend: { service: { name } } }] },
      }],
      ...spec,
    },
    status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
  }, { namespace: "shop" });
}

export function controllerOptions(...args: readonly string[]) {
  const parsed = parseControllerOptions(["--backend=HostPort", ...args]);
  if (parsed.kind !== "ok") throw new TypeError(parsed.text);
  return parsed.options;
}

export function installation(more: Partial<Installation> = {}): Installation {
  return {
    namespace: "pingress-system",
    deployment: value({
      ...object("pingress-controller", {
        spec: { replicas: 2, template: { spec: { serviceAccountName: "controller" } } },
        status: { replicas: 2, readyReplicas: 2, updatedReplicas: 2, availableReplicas: 2 },
      }),
      kind: "Deployment",
    }),
    options: controllerOptions(),
    workload: value({
      ...object("pingress-proxy-server", {
        status: {
          observedGeneration: 1,
          desiredNumberScheduled: 1,
          numberReady: 1,
          numberAvailable: 1,
          updatedNumberScheduled: 1,
        },
      }, { namespace: "pingress-system", creationTimestamp: new Date(NOW - DAY).toISOString() }),
      kind: "DaemonSet",
    }),
    controllerPods: value([
      pod("controller-a", "controller:1"),
      pod("controller-b", "controller:1"),
    ]),
    proxyPods: value([pod("proxy-1")]),
    leader: value({ name: "controller-a", isAlive: true, renewedAgo: 1000 }),
    ...more,
  };
}

export function pages(more: {
  readonly proxies?: readonly ConnectedProxy[];
  readonly problems?: readonly ShownProblem[];
} = {}): ControllerPages {
  const { proxies = [connectedProxy("proxy-1")], problems = [] } = more;
  return {
    replicas: [
      { pod: "controller-a", version: value("1.0.0"), proxies: value({ hash: "h", proxies }) },
      { pod: "controller-b", version: value("1.0.0"), proxies: value({ hash: "h", proxies: [] }) },
    ],
    problems: value(problems),
  };
}

export function checkFacts(more: Partial<CheckFacts> = {}): CheckFacts {
  return {
    now: NOW,
    ownVersion: "1.0.0",
    server: "https://10.0.0.1:6443",
    kubernetes: value("v1.34.1"),
    rights: value(USER_RIGHTS.map((right) => ({ right, isAllowed: true }))),
    accountRights: value([]),
    installation: installation(),
    pages: pages(),
    elsewhere: [],
    classes: value([
      object("pingress", { spec: { controller: "pingress.io/ingress-controller" } }),
    ]),
    ingresses: value([ingress("web")]),
    gatewayApi: value(null),
    daemonSets: value([]),
    dnsSlices: value([object("kube-dns-1", { endpoints: [{ conditions: { ready: true } }] })]),
    certificates: value([{ secret: "shop/web-tls", endsAt: NOW + 61 * DAY }]),
    claims: value(object("pingress-claims", {
      data: {
        "claims.json":
          '{"version":1,"hosts":[{"host":"web.example.com","claims":[{"namespace":"shop","since":"x"}]}]}',
      },
    })),
    networkPolicies: value([object("pingress-controller"), object("pingress-proxy-server")]),
    ...more,
  };
}
