import assert from "node:assert/strict";
import {
  checkFacts,
  connectedProxy,
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
import { styleOf } from "../terminal/style.ts";
import type { StatusFacts, StatusObjects } from "./facts.ts";
import { statusOf } from "./status.ts";
import { statusText } from "./text_output.ts";

const DAY = 24 * 60 * 60 * 1000;

const slice = (service: string, ...ready: readonly boolean[]) =>
  object(`${service}-1`, {
    endpoints: ready.map((one) => ({ conditions: { ready: one } })),
  }, { namespace: "shop", labels: { "kubernetes.io/service-name": service } });

const NONE = value([]);

const OBJECTS: StatusObjects = {
  ingresses: value([ingress("web", { tls: [{ secretName: "web-tls" }] }), ingress("api")]),
  ingressClasses: checkFacts().classes,
  services: NONE,
  endpointSlices: value([slice("web", true, false)]),
  gatewayClasses: NONE,
  gateways: NONE,
  httpRoutes: NONE,
};

function facts(
  objects: Partial<StatusObjects> = {},
  more: Partial<StatusFacts> = {},
): StatusFacts {
  const { certificates } = checkFacts();
  return {
    now: NOW,
    objects: { ...OBJECTS, ...objects },
    installation: installation(),
    pages: pages(),
    certificates,
    events: null,
    missingNamespace: null,
    stale: [],
    ...more,
  };
}

/** As a terminal of so many columns shows it, without colours. */
function text(columns: number, given = facts()): string {
  return statusText(statusOf(given), { style: styleOf(false), columns, namespace: null });
}

Deno.test("Ingresses have their backends, days of certificates and addresses", () => {
  const problems = [problem("EndpointsMissing", { object: "Ingress shop/api" })];
  assert.equal(
    text(Infinity, facts({}, { pages: pages({ problems }) })),
    `NAME      HOSTS            BACKENDS  CERT  PROBLEMS          ADDRESS
shop/api  api.example.com  0/1       –     EndpointsMissing  192.0.2.1
shop/web  web.example.com  1/1       61d   –                 192.0.2.1

PROXY    NODE    READY  SYNC     VERSION
proxy-1  node-1  yes    in sync  1.0.0

CONTROLLER    READY  LEADS  PROXIES  VERSION
controller-a  yes    yes    1        1.0.0
controller-b  yes    –      0        1.0.0
`,
  );
});

for (const columns of [40, 60, 80, 120]) {
  Deno.test(`in ${columns} columns no line is longer, and names and backends are there`, () => {
    const hosts = Array.from({ length: 3 }, (_, i) => ({
      host: `a-very-long-name-${i}.of-a-department.example.com`,
    }));
    const long = ingress("checkout-of-the-shop-with-a-long-name", { rules: hosts });
    const shown = text(
      columns,
      facts({ ingresses: value([ingress("web"), long]) }, {
        pages: pages({
          proxies: [connectedProxy("proxy-1", {
            isInSync: false,
            refused: { code: "loss", reason: "it would remove 80 % of the routes" },
          })],
          problems: [problem("ServiceNotFound")],
        }),
        certificates: denied("list", "secrets"),
      }),
    );
    for (const line of shown.split("\n")) assert.ok([...line].length <= columns, line);
    assert.match(shown, /shop\/web /);
    assert.match(shown, /1\/1/);
    assert.match(shown, /behind/);
  });
}

interface Row {
  readonly name: string;
  readonly facts: StatusFacts;
  readonly line: RegExp;
}

const gateway = object("edge", {
  spec: {
    gatewayClassName: "pingress",
    listeners: [{ hostname: "*.example.com", tls: { certificateRefs: [{ name: "web-tls" }] } }],
  },
  status: { addresses: [{ value: "192.0.2.7" }] },
}, { namespace: "shop" });

const route = object("web", {
  spec: {
    hostnames: ["web.example.com"],
    parentRefs: [{ name: "edge", namespace: "shop" }],
    rules: [{ backendRefs: [{ name: "web", namespace: "shop" }] }],
  },
}, { namespace: "blog" });

const ROWS: readonly Row[] = [
  {
    name: "a Gateway has the backends of its routes",
    facts: facts({
      gateways: value([gateway]),
      httpRoutes: value([route]),
      gatewayClasses: value([
        object("pingress", { spec: { controllerName: "pingress.io/gateway-controller" } }),
      ]),
    }, {
      pages: pages({ problems: [problem("RefNotPermitted", { object: "HTTPRoute blog/web" })] }),
    }),
    line:
      /^shop\/edge \(Gateway\) +\*\.example\.com \+1 +1\/1 +61d +RefNotPermitted +192\.0\.2\.7$/m,
  },
  {
    name: "a Secret that is missing",
    facts: facts({ ingresses: value([ingress("web", { tls: [{ secretName: "gone" }] })]) }),
    line: /^shop\/web .* missing /m,
  },
  {
    name: "a certificate that has expired",
    facts: facts({}, { certificates: value([{ secret: "shop/web-tls", endsAt: NOW - DAY }]) }),
    line: /^shop\/web .* expired /m,
  },
  {
    name: "certificates that cannot be read",
    facts: facts({}, { certificates: denied("list", "secrets") }),
    line: /^shop\/web .* 1\/1 +\? +–/m,
  },
  {
    name: "endpoints that cannot be read",
    facts: facts({ endpointSlices: denied("list", "endpointslices") }),
    line: /^shop\/web .* \?\/1 /m,
  },
  {
    name: "a name outside of the cluster is a ready backend",
    facts: facts({
      services: value([object("api", { spec: { type: "ExternalName" } }, { namespace: "shop" })]),
    }),
    line: /^shop\/api .* 1\/1 /m,
  },
  {
    name: "problems of Events, where the controller's cannot be read",
    facts: facts({}, {
      pages: { ...pages(), problems: denied("create", "pods/portforward") },
      events: value([object("e", {
        involvedObject: { kind: "Ingress", namespace: "shop", name: "web" },
        reason: "ServiceNotFound",
        reportingComponent: "pingress-controller",
      })]),
    }),
    line: /^shop\/web .* ServiceNotFound /m,
  },
  {
    name: "a proxy that is behind",
    facts: facts({}, {
      pages: pages({ proxies: [connectedProxy("proxy-1", { isInSync: false })] }),
    }),
    line:
      /^proxy-1 +node-1 +yes +behind: it has not acknowledged the newest configuration +1\.0\.0$/m,
  },
  {
    name: "a proxy without a stream",
    facts: facts({}, { pages: pages({ proxies: [] }) }),
    line: /^proxy-1 .* behind: it has no stream and follows its files +\?$/m,
  },
  {
    name: "a proxy that is not ready",
    facts: facts({}, {
      installation: installation({ proxyPods: value([pod("proxy-1", "proxy:1", false)]) }),
    }),
    line: /^proxy-1 +node-1 +no +in sync/m,
  },
  {
    name: "nobody who leads",
    facts: facts({}, {
      installation: installation({
        leader: value({ name: "controller-x", isAlive: false, renewedAgo: 60_000 }),
      }),
    }),
    line: /^controller-a +yes +nobody/m,
  },
  {
    name: "a right that is missing",
    facts: facts({ ingresses: denied("list", "ingresses") }),
    line: /^! cannot list ingresses: forbidden\n {2}→ Allow the verb list on ingresses$/m,
  },
  {
    name: "control characters of names",
    facts: facts({ ingresses: value([ingress("web\x1b[2J")]) }),
    line: /^shop\/web\\u001b\[2J /m,
  },
  {
    name: "no controller where there is none",
    facts: facts({}, { installation: installation({ controllerPods: NONE }) }),
    line:
      /^! there is no pod of the controller in namespace pingress-system\n {2}→ Correct --system/m,
  },
  {
    name: "that Ingresses are not known where they cannot be listed",
    facts: facts({ ingresses: denied("list", "ingresses") }),
    line: /^Ingresses and Gateways are not known, as they could not be listed$/m,
  },
  {
    name: "nothing at all",
    facts: facts({ ingresses: NONE }),
    line: /^No Ingress or Gateway of Pingress in any namespace$/m,
  },
  {
    name: "a namespace that does not exist, with the one that was meant",
    facts: facts({ ingresses: NONE }, { missingNamespace: { name: "shp", meant: "shop" } }),
    line: /^There is no namespace shp; did you mean shop\?$/m,
  },
  {
    name: "a namespace that does not exist",
    facts: facts({ ingresses: NONE }, { missingNamespace: { name: "other", meant: null } }),
    line: /^There is no namespace other; -A lists those of all namespaces$/m,
  },
];

Deno.test("names of one namespace are shown without it, so that they differ on a narrow terminal", () => {
  const namespace = "a-namespace-of-forty-characters-and-more";
  const named = ["first", "second"].map((name) =>
    object(name, {
      spec: { ingressClassName: "pingress", rules: [{ host: `${name}.example.com` }] },
    }, { namespace })
  );
  const shown = statusText(statusOf(facts({ ingresses: value(named) })), {
    ...{ style: styleOf(false), columns: 80, namespace },
  });
  assert.match(shown, /^first +first\.example\.com /m);
  assert.match(shown, /^second +second\.example\.com /m);
  const empty = statusText(statusOf(facts({ ingresses: NONE })), {
    ...{ style: styleOf(false), columns: Infinity, namespace: "shop" },
  });
  assert.match(empty, /^No Ingress or Gateway of Pingress in namespace shop; -A lists/);
});

Deno.test("Events that may not be listed are not asked for, as no documented role has them", () => {
  const problems = { ...pages(), problems: denied("create", "pods/portforward") };
  const shown = text(Infinity, facts({}, { pages: problems, events: denied("list", "events") }));
  assert.match(shown, /^! cannot create pods\/portforward/m);
  assert.doesNotMatch(shown, /events/);
});

for (const { name, facts, line } of ROWS) {
  Deno.test(`status shows ${name}`, () => assert.match(text(Infinity, facts), line));
}

Deno.test("where the terminal is too low, what has trouble comes first, and the rest is counted", () => {
  const many = Array.from({ length: 40 }, (_, i) => ingress(`web-${i}`));
  const given = facts({
    ingresses: value([...many, ingress("zoo")]),
    endpointSlices: value(many.map((_, i) => slice(`web-${i}`, true))),
  });
  const shown = statusText(statusOf(given), {
    ...{ style: styleOf(false), columns: 80, rows: 20, namespace: null },
  });
  assert.ok(shown.split("\n").length <= 20, shown);
  assert.match(shown, /^NAME .*\nshop\/zoo .* 0\/1 /);
  assert.match(shown, /\n… and \d+ more; -o json lists all\n\nPROXY /);
});

Deno.test("a watch that fails is named", () => {
  const { unread } = denied("watch", "ingresses");
  assert.match(text(80, facts({}, { stale: [unread] })), /! cannot watch ingresses/);
});

Deno.test("an Ingress of another class is not listed", () => {
  const other = facts({ ingresses: value([ingress("web", { ingressClassName: "nginx" })]) });
  assert.deepEqual(statusOf(other).served, []);
});

Deno.test("where nothing can be read, status names the Ingresses, and not what it read last", () => {
  const unreachable = (verb: string, resource: string) => ({
    ok: false as const,
    code: 0,
    unread: {
      message: `cannot ${verb} ${resource}: connect ECONNREFUSED 127.0.0.1:1`,
      remedy: "Check the server of the kubeconfig",
    },
  });
  const shown = text(
    Infinity,
    facts({
      ingresses: unreachable("list", "ingresses"),
      services: unreachable("list", "services"),
    }, {
      installation: installation({ controllerPods: unreachable("list", "pods") }),
      events: unreachable("list", "events"),
    }),
  );
  assert.match(shown, /^Ingresses and Gateways are not known/);
  assert.deepEqual(shown.match(/^! .*$/mg), [
    "! cannot list ingresses: connect ECONNREFUSED 127.0.0.1:1",
  ]);
});
