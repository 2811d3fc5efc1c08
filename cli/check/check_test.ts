import assert from "node:assert/strict";
import {
  checkFacts,
  connectedProxy,
  controllerOptions,
  denied,
  ingress,
  installation,
  NOW,
  object,
  pages,
  pod,
  problem,
  value,
} from "../../tests/support/check_facts.ts";
import { check } from "./check.ts";
import type { CheckFacts, GatewayApi } from "./facts.ts";
import { countOf } from "./result.ts";
import { CONTROLLER_RIGHTS, USER_RIGHTS } from "./right.ts";
import { laterPages } from "./reading.ts";
import { styleOf } from "../terminal/style.ts";
import { checkText } from "./text_output.ts";

const DAY = 24 * 60 * 60 * 1000;

Deno.test("a sound installation fails no check and warns of nothing", () => {
  const groups = check(checkFacts());
  const { failed, warning, ok, skipped } = countOf(groups);
  assert.deepEqual({ failed, warning, skipped }, { failed: 0, warning: 0, skipped: 1 });
  assert.ok(ok >= 18, String(ok));
});

const GATEWAY_API: GatewayApi = {
  served: new Set(["gatewayclasses", "gateways", "httproutes", "referencegrants"]),
  crds: [{ name: "gateways.x", bundleVersion: "v1.6.0", isTerminating: false }],
  classes: value([gatewayClass("True")]),
  gateways: value([]),
  services: value([]),
};

function gatewayClass(status: string) {
  return object("pingress", {
    spec: { controllerName: "pingress.io/gateway-controller" },
    status: { conditions: [{ type: "Accepted", status, message: "No such ConfigMap." }] },
  });
}

const gateway = (status: string) =>
  object("web", {
    spec: { gatewayClassName: "pingress" },
    status: { conditions: [{ type: "Programmed", status, message: "No address yet." }] },
  }, { namespace: "shop" });

const loadBalancer = (name: string, addresses: readonly unknown[]) =>
  object(name, {
    spec: { type: "LoadBalancer" },
    status: { loadBalancer: { ingress: addresses } },
  }, { namespace: "shop", labels: { "gateway.networking.k8s.io/gateway-name": name } });

const forbid = (rights: readonly (typeof USER_RIGHTS)[number][], resource: string) =>
  value(rights.map((right) => ({ right, isAllowed: right.resource !== resource })));

interface Row {
  readonly name: string;
  readonly facts: Partial<CheckFacts>;
  readonly group: string;
  readonly level: string;
  readonly message: RegExp;
  readonly remedy: RegExp | null;
}

/** What is wrong, and the line that says so. */
const ROWS: readonly Row[] = [
  {
    name: "an API server that does not answer",
    facts: { kubernetes: denied("get", "version") },
    group: "api",
    level: "failed",
    message: /cannot get version/,
    remedy: /./,
  },
  {
    name: "an API server that is too old",
    facts: { kubernetes: value("v1.26.9-gke.1") },
    group: "api",
    level: "failed",
    message: /Kubernetes v1\.26\.9-gke\.1 is older than 1\.27/,
    remedy: /Upgrade the cluster/,
  },
  {
    name: "a right that the user lacks",
    facts: { rights: forbid(USER_RIGHTS, "ingresses") },
    group: "rights",
    level: "warning",
    message:
      /you may not list ingresses\.networking\.k8s\.io: classes and Ingresses are not checked/,
    remedy: /^Apply overlays\/check, which has all of these rights/,
  },
  {
    name: "a right that the controller lacks",
    facts: { accountRights: forbid(CONTROLLER_RIGHTS, "services") },
    group: "rights",
    level: "failed",
    message:
      /the controller's account may not list and watch services, so routes do not change any more/,
    remedy: /Apply manifests\/hostport\.yaml/,
  },
  {
    name: "a right that the controller can do without",
    facts: { accountRights: forbid(CONTROLLER_RIGHTS, "events") },
    group: "rights",
    level: "warning",
    message: /may not create and patch events, so kubectl describe shows no problems/,
    remedy: /./,
  },
  {
    name: "no installation",
    facts: { installation: installation({ deployment: value(null) }) },
    group: "workload",
    level: "failed",
    message: /Pingress is not installed in namespace pingress-system/,
    remedy: /Apply manifests\//,
  },
  {
    name: "an installation in another namespace",
    facts: { installation: installation({ deployment: value(null) }), elsewhere: ["edge"] },
    group: "workload",
    level: "failed",
    message: /is not installed in namespace pingress-system/,
    remedy: /Add --system-namespace=edge/,
  },
  {
    name: "a controller that is not ready",
    facts: {
      installation: installation({
        deployment: value({
          ...object("pingress-controller", { spec: { replicas: 1 }, status: { replicas: 1 } }),
          kind: "Deployment",
        }),
        controllerPods: value([
          object("controller-a", {
            status: {
              containerStatuses: [{
                state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } },
              }],
            },
          }),
        ]),
      }),
    },
    group: "workload",
    level: "failed",
    message: /0 of 1 replicas of the controller are ready; pod controller-a: no such image/,
    remedy: /logs controller-a/,
  },
  {
    name: "a controller with one replica",
    facts: {
      installation: installation({
        deployment: value({
          ...object("pingress-controller", { spec: { replicas: 1 }, status: { readyReplicas: 1 } }),
          kind: "Deployment",
        }),
      }),
    },
    group: "workload",
    level: "warning",
    message: /the controller has one replica/,
    remedy: /--replicas=2/,
  },
  {
    name: "flags of another version",
    facts: { installation: installation({ options: null }) },
    group: "workload",
    level: "warning",
    message: /the flags of the controller are not known/,
    remedy: /the version of pingress/,
  },
  {
    name: "no leader",
    facts: {
      installation: installation({
        leader: value({ name: null, isAlive: false, renewedAgo: null }),
      }),
    },
    group: "workload",
    level: "failed",
    message: /no replica leads, so nothing is published/,
    remedy: /may update Lease pingress-controller/,
  },
  {
    name: "a leader that is lost",
    facts: {
      installation: installation({
        leader: value({ name: "controller-x", isAlive: false, renewedAgo: 90_000 }),
      }),
    },
    group: "workload",
    level: "failed",
    message: /the leader controller-x, whose pod is gone, has not renewed its Lease for 90 s/,
    remedy: /may update Lease/,
  },
  {
    name: "no proxies",
    facts: { installation: installation({ workload: value(null) }) },
    group: "workload",
    level: "failed",
    message: /there are no proxies/,
    remedy: /Read the log of the leader/,
  },
  {
    name: "no proxies, and no Ingress yet",
    facts: { installation: installation({ workload: value(null) }), ingresses: value([]) },
    group: "workload",
    level: "warning",
    message: /creates them with the first Ingress/,
    remedy: /Create an Ingress/,
  },
  {
    name: "a proxy that crashes",
    facts: {
      installation: installation({
        workload: value({
          ...object("pingress-proxy-server", {
            status: { observedGeneration: 1, desiredNumberScheduled: 1, numberReady: 0 },
          }, { namespace: "pingress-system" }),
          kind: "DaemonSet",
        }),
        proxyPods: value([
          object("proxy-1", {
            status: {
              containerStatuses: [{
                state: { waiting: { reason: "CrashLoopBackOff" } },
                lastState: { terminated: { exitCode: 1, message: "unknown flag --x" } },
              }],
            },
          }),
        ]),
      }),
    },
    group: "workload",
    level: "failed",
    message: /0 of 1 proxies are ready; pod proxy-1: it keeps crashing.*unknown flag --x/,
    remedy: /Read its log/,
  },
  {
    name: "proxies of two images",
    facts: {
      installation: installation({ proxyPods: value([pod("proxy-1"), pod("proxy-2", "proxy:2")]) }),
      pages: pages({ proxies: [connectedProxy("proxy-1"), connectedProxy("proxy-2")] }),
    },
    group: "workload",
    level: "warning",
    message: /pods of the proxies have several images: proxy:1, proxy:2/,
    remedy: /Finish the rollout/,
  },
  {
    name: "a proxy that rejects the configuration",
    facts: {
      pages: pages({
        proxies: [connectedProxy("proxy-1", {
          isInSync: false,
          refused: { code: "older", reason: "version 3 is older than 5" },
        })],
      }),
    },
    group: "stream",
    level: "failed",
    message:
      /proxy proxy-1 is behind .* it rejects the configuration \(older\): version 3 is older/,
    remedy: /Restart the proxies/,
  },
  {
    name: "a proxy that cannot open a port",
    facts: {
      pages: pages({
        proxies: [
          connectedProxy("proxy-1", { isInSync: false, obstacles: ["port 10000: it is in use"] }),
        ],
      }),
    },
    group: "stream",
    level: "failed",
    message: /proxy-1 is behind the controller: port 10000: it is in use/,
    remedy: /--listen-range/,
  },
  {
    name: "a proxy without a stream",
    facts: { pages: pages({ proxies: [] }) },
    group: "stream",
    level: "warning",
    message: /proxy proxy-1 has no stream/,
    remedy: /logs proxy-1 \| grep -i stream/,
  },
  {
    name: "no right to connect to pods",
    facts: {
      pages: {
        replicas: [{
          pod: "controller-a",
          version: denied("create", "pods/portforward"),
          proxies: denied("create", "pods/portforward"),
        }],
        problems: denied("create", "pods/portforward"),
      },
    },
    group: "stream",
    level: "skipped",
    message: /not checked: cannot create pods\/portforward/,
    remedy: /Allow the verb create on pods\/portforward/,
  },
  {
    name: "a replica that is ready and does not answer, beside one that does",
    facts: {
      pages: {
        replicas: [
          {
            pod: "controller-a",
            version: denied("create", "pods/portforward"),
            proxies: denied("create", "pods/portforward"),
          },
          ...pages({ proxies: [connectedProxy("proxy-1", { isInSync: false })] }).replicas,
        ],
        problems: value([]),
      },
    },
    group: "stream",
    level: "warning",
    message: /^replica controller-a is ready and does not answer: cannot create pods\/portforward/,
    remedy: /./,
  },
  {
    name: "the proxy that is behind, though another replica does not answer",
    facts: {
      pages: {
        replicas: [
          {
            pod: "controller-a",
            version: denied("create", "pods/portforward"),
            proxies: denied("create", "pods/portforward"),
          },
          ...pages({ proxies: [connectedProxy("proxy-1", { isInSync: false })] }).replicas,
        ],
        problems: value([]),
      },
    },
    group: "stream",
    level: "failed",
    message: /^proxy proxy-1 is behind the controller/,
    remedy: /./,
  },
  {
    name: "no claim about ports of nodes where nothing of the proxies can be read",
    facts: {
      installation: installation({ options: null, workload: denied("list", "daemonsets") }),
    },
    group: "network",
    level: "skipped",
    message: /^not checked: cannot list daemonsets/,
    remedy: /Allow the verb list/,
  },
  {
    name: "a controller of an older version",
    facts: {
      pages: {
        replicas: [{ pod: "controller-a", version: value(null), proxies: value(null) }],
        problems: value(null),
      },
    },
    group: "stream",
    level: "warning",
    message: /controller-a is of a version without the page \/proxies/,
    remedy: /Upgrade the controller/,
  },
  {
    name: "a proxy of another version",
    facts: { pages: pages({ proxies: [connectedProxy("proxy-1", { build: "0.9.0" })] }) },
    group: "stream",
    level: "warning",
    message:
      /proxies of another version than the controller \(1\.0\.0\): 1, such as proxy-1 \(0\.9\.0\)/,
    remedy: /--proxy-server-image/,
  },
  {
    name: "a controller of another version than this program",
    facts: { ownVersion: "1.1.0" },
    group: "stream",
    level: "warning",
    message: /the controller is of version 1\.0\.0, and this program of 1\.1\.0/,
    remedy: /upgrade the controller/,
  },
  {
    name: "no class of Pingress",
    facts: { classes: value([]) },
    group: "classes",
    level: "failed",
    message: /there is no IngressClass of Pingress; only Ingresses of class pingress are served/,
    remedy: /Apply manifests\/ingress-class\.yaml/,
  },
  {
    name: "a class of another controller that is served here",
    facts: {
      installation: installation({
        options: controllerOptions("--ingress-class=pingress", "--nginx-class=nginx"),
      }),
      classes: value([object("nginx", { spec: { controller: "k8s.io/ingress-nginx" } })]),
    },
    group: "classes",
    level: "warning",
    message: /IngressClass nginx is of the controller k8s\.io\/ingress-nginx/,
    remedy: /pingress\.io\/status: "off"/,
  },
  {
    name: "two default classes",
    facts: {
      classes: value(["a", "b"].map((name) =>
        object(name, {}, {
          annotations: { "ingressclass.kubernetes.io/is-default-class": "true" },
        })
      )),
    },
    group: "classes",
    level: "failed",
    message: /several IngressClasses are marked as default \(a, b\)/,
    remedy: /Remove the annotation/,
  },
  {
    name: "an Ingress without a class",
    facts: { ingresses: value([ingress("web", { ingressClassName: undefined })]) },
    group: "classes",
    level: "warning",
    message: /Ingresses without a class are not served: shop\/web/,
    remedy: /Set spec\.ingressClassName: pingress/,
  },
  {
    name: "an Ingress of a class that is misspelt",
    facts: { ingresses: value([ingress("web", { ingressClassName: "pingres" })]) },
    group: "classes",
    level: "warning",
    message: /classes that do not exist are not served: shop\/web/,
    remedy: /Write pingress in place of pingres/,
  },
  {
    name: "CRDs that are missing",
    facts: { gatewayApi: value({ ...GATEWAY_API, served: new Set(["gateways"]) }) },
    group: "gateway-api",
    level: "failed",
    message: /are missing: gatewayclasses\.gateway\.networking\.k8s\.io, httproutes\./,
    remedy: /standard-install\.yaml/,
  },
  {
    name: "no CRD at all",
    facts: {},
    group: "gateway-api",
    level: "skipped",
    message: /not installed, so no Gateway is served/,
    remedy: /without Gateways there is nothing to do/,
  },
  {
    name: "CRDs of a newer release",
    facts: {
      gatewayApi: value({
        ...GATEWAY_API,
        crds: [{ name: "gateways.x", bundleVersion: "v2.0.0", isTerminating: false }],
      }),
    },
    group: "gateway-api",
    level: "warning",
    message: /gateways\.x is of release v2\.0\.0/,
    remedy: /./,
  },
  {
    name: "a GatewayClass that is not accepted",
    facts: { gatewayApi: value({ ...GATEWAY_API, classes: value([gatewayClass("False")]) }) },
    group: "gateway-api",
    level: "failed",
    message: /GatewayClass pingress is not accepted: No such ConfigMap$/,
    remedy: /parametersRef/,
  },
  {
    name: "a GatewayClass that nobody has looked at",
    facts: { gatewayApi: value({ ...GATEWAY_API, classes: value([gatewayClass("Unknown")]) }) },
    group: "gateway-api",
    level: "failed",
    message: /has not looked at GatewayClass pingress/,
    remedy: /overlays\/gateway/,
  },
  {
    name: "a Gateway that is not programmed",
    facts: { gatewayApi: value({ ...GATEWAY_API, gateways: value([gateway("False")]) }) },
    group: "gateway-api",
    level: "warning",
    message: /not programmed: shop\/web: No address yet$/,
    remedy: /describe gateway web/,
  },
  {
    name: "a load balancer without an address",
    facts: { gatewayApi: value({ ...GATEWAY_API, services: value([loadBalancer("web", [])]) }) },
    group: "gateway-api",
    level: "warning",
    message: /1 of 1 load balancers of Gateways have no address, such as that of Service shop\/web/,
    remedy: /MetalLB/,
  },
  {
    name: "a load balancer for each of two Gateways",
    facts: {
      gatewayApi: value({
        ...GATEWAY_API,
        services: value([
          loadBalancer("a", [{ ip: "1.1.1.1" }]),
          loadBalancer("b", [{ ip: "1.1.1.2" }]),
        ]),
      }),
    },
    group: "gateway-api",
    level: "warning",
    message: /2 Gateways have a load balancer each, and clouds charge for each/,
    remedy: /Merge Gateways/,
  },
  {
    name: "another DaemonSet on port 80 of the nodes",
    facts: {
      daemonSets: value([object("ingress-nginx", {
        spec: {
          template: { spec: { containers: [{ ports: [{ hostPort: 80 }, { hostPort: 53 }] }] } },
        },
      }, { namespace: "ingress-nginx" })]),
    },
    group: "network",
    level: "failed",
    message: /DaemonSet ingress-nginx\/ingress-nginx takes port 80 of its nodes as well/,
    remedy: /--node-selector/,
  },
  {
    name: "another DaemonSet in the network of the nodes",
    facts: {
      daemonSets: value([object("traefik", {
        spec: {
          template: {
            spec: { hostNetwork: true, containers: [{ ports: [{ containerPort: 443 }] }] },
          },
        },
      }, { namespace: "edge" })]),
    },
    group: "network",
    level: "failed",
    message: /DaemonSet edge\/traefik takes port 443/,
    remedy: /./,
  },
  {
    name: "no NetworkPolicy",
    facts: { networkPolicies: value([object("pingress-controller")]) },
    group: "network",
    level: "warning",
    message: /there is no NetworkPolicy pingress-proxy-server/,
    remedy: /network-policies\.yaml/,
  },
  {
    name: "a DNS without endpoints",
    facts: {
      dnsSlices: value([object("kube-dns-1", { endpoints: [{ conditions: { ready: false } }] })]),
    },
    group: "network",
    level: "failed",
    message: /the DNS of the cluster has no ready endpoint/,
    remedy: /kube-system get pods/,
  },
  {
    name: "an Ingress whose Service is missing",
    facts: { pages: pages({ problems: [problem("ServiceNotFound")] }) },
    group: "configuration",
    level: "failed",
    message: /ServiceNotFound: Ingress shop\/web: the Service does not exist/,
    remedy: /Create it/,
  },
  {
    name: "an Ingress that is served otherwise than in ingress-nginx",
    facts: { pages: pages({ problems: [problem("NginxAnnotation", { severity: "warning" })] }) },
    group: "configuration",
    level: "warning",
    message: /NginxAnnotation: Ingress shop\/web/,
    remedy: /Create it/,
  },
  {
    name: "a certificate that has expired",
    facts: { certificates: value([{ secret: "shop/web-tls", endsAt: NOW - DAY }]) },
    group: "configuration",
    level: "failed",
    message: /Secret shop\/web-tls has expired on 2026-10-31/,
    remedy: /Renew it/,
  },
  {
    name: "a certificate that ends soon",
    facts: { certificates: value([{ secret: "shop/web-tls", endsAt: NOW + 3 * DAY }]) },
    group: "configuration",
    level: "warning",
    message: /Secret shop\/web-tls ends in 3 days, on 2026-11-04/,
    remedy: /Renew it/,
  },
  {
    name: "a certificate that is none",
    facts: { certificates: value([{ secret: "shop/web-tls", endsAt: null }]) },
    group: "configuration",
    level: "failed",
    message: /the certificate of Secret shop\/web-tls cannot be read/,
    remedy: /tls\.crt/,
  },
  {
    name: "claims that cannot be read",
    facts: { claims: value(object("pingress-claims", { data: { "claims.json": "{" } })) },
    group: "configuration",
    level: "failed",
    message: /the ConfigMap pingress-claims cannot be used: it is not JSON/,
    remedy: /delete it while the controller runs/,
  },
  {
    name: "a host that two namespaces claim",
    facts: {
      claims: value(object("pingress-claims", {
        data: {
          "claims.json": JSON.stringify({
            version: 1,
            hosts: [{
              host: "a.example.com",
              claims: [{ namespace: "shop", since: "x" }, { namespace: "blog", since: "y" }],
            }],
          }),
        },
      })),
    },
    group: "configuration",
    level: "warning",
    message:
      /1 of 1 hosts are claimed by several namespaces, such as a\.example\.com.* shop and not to blog/,
    remedy: /pingress\.io\/hosts/,
  },
  {
    name: "no claims",
    facts: { claims: value(null) },
    group: "configuration",
    level: "warning",
    message: /there is no ConfigMap pingress-claims/,
    remedy: /replica leads/,
  },
  {
    name: "a namespace over its bound",
    facts: { pages: pages({ problems: [problem("NamespaceLimitExceeded")] }) },
    group: "configuration",
    level: "failed",
    message: /NamespaceLimitExceeded: Ingress shop\/web/,
    remedy: /./,
  },
  {
    name: "a namespace near its bound",
    facts: {
      installation: installation({ options: controllerOptions("--max-namespace-routes=1") }),
    },
    group: "configuration",
    level: "warning",
    message: /namespace shop has 1 of 1 paths/,
    remedy: /--max-namespace-routes/,
  },
];

for (const { name, facts, group, level, message, remedy } of ROWS) {
  Deno.test(`check says so of ${name}`, () => {
    const groups = check(checkFacts(facts));
    const { results } = groups.find(({ id }) => id === group)!;
    const found = results.find((result) => result.level === level && message.test(result.message));
    assert.ok(found !== undefined, JSON.stringify(results, null, 2));
    assert.match(found.remedy ?? "", remedy ?? /^$/);
    for (const result of groups.flatMap(({ results }) => results)) {
      assert.doesNotMatch(result.message, /\.$|undefined|null|\[object/, result.message);
      assert.doesNotMatch(result.remedy ?? "", /\.$|undefined|\[object/);
      assert.match(result.remedy ?? "A", /^[A-Z]/);
      assert.equal(result.remedy === null && /warning|failed/.test(result.level), false);
    }
  });
}

Deno.test("a page that a replica does not answer the second time is as it was the first time", () => {
  const first = pages({ proxies: [connectedProxy("proxy-1", { isInSync: false })] });
  const hung = denied("get", "pods/portforward");
  const second = {
    problems: hung,
    replicas: first.replicas.map(({ pod }) => ({ pod, version: hung, proxies: hung })),
  };
  assert.deepEqual(laterPages(first, second), first);
  const settled = pages({ proxies: [connectedProxy("proxy-1")] });
  assert.deepEqual(laterPages(first, settled), settled);
});

Deno.test("a remedy of several results is printed once, behind the last of them", () => {
  const rights = [...CONTROLLER_RIGHTS].slice(0, 14).map((right) => ({ right, isAllowed: false }));
  const groups = check(checkFacts({ accountRights: value(rights) }));
  const { results } = groups.find(({ id }) => id === "rights")!;
  const shown = checkText(groups, { style: styleOf(false), columns: Infinity });
  assert.ok(results.filter(({ level }) => level === "failed").length > 1);
  assert.equal(shown.match(/Apply manifests\/hostport\.yaml of the controller's/g)?.length, 1);
});

Deno.test("of an API server that does not answer, nothing else is said", () => {
  const groups = check(checkFacts({ kubernetes: denied("get", "version") }));
  assert.deepEqual(groups.map(({ id }) => id), ["api"]);
});
