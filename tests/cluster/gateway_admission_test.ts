/**
 * What overlays/gateway lets the controller's account write: Services and EndpointSlices of Gateways, with the
 * account's real token.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { dirname, join } from "node:path";
import { ownerReference, ownLabels } from "../../controller/outputs/addresses/names.ts";
import { DEFAULT_LISTEN_RANGE, formatPortRange } from "../../shared/net/port_range.ts";
import { AddressScene } from "./support/address_scene.ts";
import type { ApiAnswer, ApiClient, KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { installGatewayCrds } from "./support/gateway_crds.ts";
import { ACCOUNT, install } from "./support/installation.ts";
import { kubectl, manifest, MANIFESTS } from "./support/kubectl.ts";
import { type Policy, variablesOf, withVariable } from "./support/policy.ts";
import { NAMESPACE, PROXY } from "./support/predecessor.ts";
import { grantsOf, needsOf, readRules, textOf } from "./support/rbac.ts";

const OVERLAY = join(dirname(MANIFESTS), "overlays", "gateway");
const GATEWAY = { namespace: "", name: "web", uid: "u1", className: "pingress" };
const LABELS = ownLabels(GATEWAY);
const OWNERS = [ownerReference(GATEWAY)];
const SLICE_LABELS = {
  ...LABELS,
  "kubernetes.io/service-name": "web-pingress",
  "endpointslice.kubernetes.io/managed-by": "gateway.pingress.io",
};

/** Installed once; null where there is no kubectl. */
let installed: Promise<string | null> | null = null;

/** The token of the controller's account. */
async function installOverlay(cluster: TestCluster): Promise<string | null> {
  await install(cluster);
  await installGatewayCrds(cluster, ["GatewayClass"]);
  // kubectl may learn of a new kind a moment later.
  await eventually("the class", async () => {
    const listed = await kubectl(cluster, ["get", "gatewayclasses"]);
    return listed === null || listed.code === 0;
  });
  const applied = await kubectl(cluster, ["apply", "-k", OVERLAY]);
  if (applied === null) {
    console.log("skipped: kubectl is not among the programs");
    return null;
  }
  equal(applied.code, 0, applied.stderr);
  const token = await cluster.serviceAccountToken(NAMESPACE, ACCOUNT);
  // The API server reads its policies anew each second.
  await eventually("the policies are active", async () => {
    const answers = [
      await create(cluster.as(token), "default", service({ metadata: { name: "x" } })),
      await create(cluster.as(token), "default", slice({ metadata: { name: "x" } })),
    ];
    const allowed = await create(cluster.as(token), "default", service());
    return answers.every(({ status }) => status >= 400) && allowed.status === 201;
  });
  return token;
}

function policyTest(name: string, run: (scene: Scene) => Promise<void>): void {
  clusterTest(name, async (cluster) => {
    const token = await (installed ??= installOverlay(cluster));
    if (token === null) return;
    await run({
      cluster,
      token,
      controller: cluster.as(token),
      namespace: await cluster.newNamespace("tenant"),
    });
  });
}

interface Scene {
  readonly cluster: TestCluster;
  readonly token: string;
  readonly controller: ApiClient;
  readonly namespace: string;
}

type Changes = Readonly<Record<string, unknown>>;

/** As the controller writes it, but for these fields. */
function service({ metadata = {}, spec = {} }: { metadata?: Changes; spec?: Changes } = {}) {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web-pingress", labels: LABELS, ownerReferences: OWNERS, ...metadata },
    spec: { type: "ClusterIP", ports: [{ name: "p80", port: 80, targetPort: 10_007 }], ...spec },
  };
}

function slice({ metadata = {}, ...rest }: { metadata?: Changes; [field: string]: unknown } = {}) {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: "web-pingress-ipv4-0",
      labels: SLICE_LABELS,
      ownerReferences: OWNERS,
      ...metadata,
    },
    addressType: "IPv4",
    ports: [{ name: "p80", port: 10_007, protocol: "TCP" }],
    endpoints: [endpoint()],
    ...rest,
  };
}

function endpoint(targetRef: Changes | null = { kind: "Pod", namespace: NAMESPACE, name: "p" }) {
  return { addresses: ["10.244.0.1"], ...(targetRef === null ? {} : { targetRef }) };
}

function pathOf({ kind, metadata }: { kind: string; metadata: Changes }, namespace: string) {
  return kind === "Service"
    ? [`/api/v1/namespaces/${namespace}/services`, metadata.name].join("/")
    : [`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, metadata.name].join("/");
}

/** Why the policy refused it. */
function messageOf({ status, body }: ApiAnswer): string {
  equal(status, 422);
  return body.message ?? "";
}

type Written = ReturnType<typeof service> | ReturnType<typeof slice>;

/** Nothing is kept. */
async function create(client: ApiClient, namespace: string, object: Written): Promise<ApiAnswer> {
  const folder = dirname(pathOf(object, namespace));
  return await client.request("POST", `${folder}?dryRun=All`, object);
}

async function patch(
  client: ApiClient,
  namespace: string,
  object: Written,
  changes: unknown,
): Promise<ApiAnswer> {
  const path = `${pathOf(object, namespace)}?dryRun=All`;
  return await client.request("PATCH", path, changes, "application/merge-patch+json");
}

policyTest(
  "the controller's account may do all that addresses of Gateways take, and uses each right",
  async ({ cluster, token }) => {
    await using scene = await AddressScene.create(cluster, { token, system: NAMESPACE });
    await scene.proxy("proxy-1", "10.244.0.1");
    const names = ["web", "web.example.com", "1st", "a".repeat(100)];
    const plans = names.map((name, i) => scene.plan({ gateway: { name, uid: `u${i}` } }));
    scene.keeper.sync(plans);
    for (const name of names) await scene.programmed(name);
    const added = [{ port: 80, containerPort: 10_007 }, { port: 443, containerPort: 10_255 }];
    scene.keeper.sync(plans.map((plan) => ({ ...plan, ports: added })));
    for (const name of names) await scene.programmed(name);
    // What a tenant has changed is put back, and the proxies' pods change.
    await scene.edit("v1", "Service", "web-pingress", {
      metadata: { labels: { "gateway.networking.k8s.io/gateway-name": "x" } },
      spec: { selector: { app: "x" }, externalIPs: ["192.0.2.1"] },
    });
    await eventually(
      "no selector",
      async () => (await scene.mustService()).spec.selector === undefined,
    );
    await scene.proxy("proxy-1", "10.244.0.1", { ready: false });
    await scene.reaches(["10.244.0.1"]);
    scene.keeper.sync([]);
    await eventually(
      "end of all objects",
      async () =>
        (await cluster.list("v1", "Service", { namespace: scene.namespace })).length === 0,
    );
    await eventually("end of all slices", async () => (await scene.slices()).length === 0);
    deepEqual(scene.recorded().filter(({ status }) => status === 403), []);
    const [role] = await readRules("../overlays/gateway/cluster-role.yaml");
    const granted = grantsOf([role])
      .filter(({ resource }) => resource === "services" || resource === "endpointslices")
      .map(textOf);
    const used = scene.recorded().filter(({ status }) => status !== null && status < 300)
      .flatMap(needsOf).map((need) => textOf({ ...need, namespace: null, names: null }));
    deepEqual([...new Set(used)].sort(), granted.sort());
  },
);

policyTest("the Service of proxies may be written as before", async ({ cluster, controller }) => {
  const { spec, ...rest } = service();
  const own = {
    ...rest,
    metadata: {
      name: PROXY,
      labels: { "app.kubernetes.io/managed-by": "pingress-controller" },
    },
    spec: { ...spec, selector: { "app.kubernetes.io/name": PROXY } },
  };
  const path = `/api/v1/namespaces/${NAMESPACE}/services/${PROXY}?dryRun=All&fieldManager=x`;
  const answer = await controller.request("PATCH", path, own, "application/apply-patch+yaml");
  equal(answer.status, 201, answer.text);
  equal(await cluster.get("v1", "Service", PROXY, NAMESPACE), null);
});

const CREATES: readonly [what: string, object: Written, says: RegExp][] = [
  ["a selector", service({ spec: { selector: { app: "x" } } }), /no selector, externalIPs/],
  [
    "external addresses",
    service({ spec: { externalIPs: ["192.0.2.1"] } }),
    /no selector, external/,
  ],
  [
    "a name elsewhere",
    service({ spec: { type: "ExternalName", externalName: "x.example.com" } }),
    /no selector, externalIPs or externalName/,
  ],
  ["another name", service({ metadata: { name: "web" } }), /must be <gateway>-<class>/],
  [
    "a hash behind a name that needs none",
    service({ metadata: { name: "web-pingress-0123abcd" } }),
    /must be <gateway>-<class>/,
  ],
  [
    "the name of cluster DNS",
    service({
      metadata: {
        name: "kube-dns",
        labels: { ...LABELS, "gateway.networking.k8s.io/gateway-class-name": "dns" },
        ownerReferences: [{ ...OWNERS[0], name: "kube" }],
      },
    }),
    /GatewayClass out of pingress; add the class to the variable gatewayClasses/,
  ],
  ["no label", service({ metadata: { labels: {} } }), /only if they have the label/],
  ["no owner", service({ metadata: { ownerReferences: [] } }), /exactly one Gateway/],
  [
    "two Gateways",
    service({ metadata: { ownerReferences: [...OWNERS, { ...OWNERS[0], uid: "u2" }] } }),
    /exactly one Gateway/,
  ],
  [
    "a Gateway of another API",
    service({ metadata: { ownerReferences: [{ ...OWNERS[0], apiVersion: "example.com/v1" }] } }),
    /exactly one Gateway/,
  ],
  [
    "a slice of cluster DNS",
    slice({
      metadata: {
        name: "kube-dns-x",
        labels: { ...SLICE_LABELS, "kubernetes.io/service-name": "kube-dns" },
      },
    }),
    /must be of the Service <gateway>-<class>/,
  ],
  [
    "a slice that is named otherwise",
    slice({ metadata: { name: "other-ipv4-0" } }),
    /be named after it/,
  ],
  [
    "a slice of another manager",
    slice({
      metadata: {
        labels: {
          ...SLICE_LABELS,
          "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        },
      },
    }),
    /may write EndpointSlices only if/,
  ],
  [
    "a slice of another class",
    slice({
      metadata: {
        name: "kube-dns-x",
        labels: {
          ...SLICE_LABELS,
          "kubernetes.io/service-name": "kube-dns",
          "gateway.networking.k8s.io/gateway-class-name": "dns",
        },
        ownerReferences: [{ ...OWNERS[0], name: "kube" }],
      },
    }),
    /GatewayClass out of pingress; add the class to the variable gatewayClasses/,
  ],
  ["no owner of a slice", slice({ metadata: { ownerReferences: [] } }), /exactly one Gateway/],
  [
    "a port outside of the range",
    slice({ ports: [{ name: "p80", port: DEFAULT_LISTEN_RANGE.to + 1, protocol: "TCP" }] }),
    /only ports of 10000-10255/,
  ],
  ["all ports", slice({ ports: null }), /only ports of 10000-10255/],
  ["no port", slice({ ports: [] }), /only ports of 10000-10255/],
  [
    "a pod of another namespace",
    slice({ endpoints: [endpoint({ kind: "Pod", namespace: "shop", name: "p" })] }),
    /must be pods of namespace pingress-system/,
  ],
  ["an endpoint without a pod", slice({ endpoints: [endpoint(), endpoint(null)] }), /must be pods/],
];

for (const [what, object, says] of CREATES) {
  policyTest(
    `the controller's account may not create: ${what}`,
    async ({ controller, namespace }) => {
      const answer = await create(controller, namespace, object);
      match(messageOf(answer), says);
    },
  );
}

policyTest("other accounts are not limited", async ({ cluster, namespace }) => {
  for (const [, object] of CREATES) {
    const answer = await create(cluster, namespace, object);
    match(answer.body.message ?? "", /^(?!.*ValidatingAdmissionPolicy)/);
  }
});

policyTest(
  "the controller's account may not change, adopt or delete objects that are not ours",
  async ({ cluster, controller, namespace }) => {
    const foreign = service({ metadata: { labels: { app: "x" }, ownerReferences: [] } });
    const foreignSlice = slice({
      metadata: { labels: { "kubernetes.io/service-name": "web-pingress" }, ownerReferences: [] },
    });
    await cluster.apply([foreign, foreignSlice] as unknown as KubeObject[], { namespace });
    for (const [object, labels] of [[foreign, LABELS], [foreignSlice, SLICE_LABELS]] as const) {
      const tries = [
        await patch(controller, namespace, object, { metadata: { labels } }),
        await patch(controller, namespace, object, {
          metadata: { labels, ownerReferences: OWNERS },
        }),
        await patch(controller, namespace, object, { metadata: { annotations: { a: "b" } } }),
        await controller.request("DELETE", `${pathOf(object, namespace)}?dryRun=All`),
      ];
      for (const answer of tries) {
        match(
          messageOf(answer),
          /the controller may write (?:Services|EndpointSlices) only if they have/,
        );
      }
    }
  },
);

policyTest(
  "the controller's account may not turn ours into something else",
  async ({ cluster, controller, namespace }) => {
    await cluster.apply([service(), slice()] as unknown as KubeObject[], { namespace });
    const CHANGES: readonly [object: Written, changes: unknown, says: RegExp][] = [
      [service(), { spec: { externalIPs: ["192.0.2.1"] } }, /no selector, externalIPs/],
      [service(), { spec: { selector: { app: "x" } } }, /no selector, externalIPs/],
      [service(), { metadata: { ownerReferences: null } }, /exactly one Gateway/],
      [
        service(),
        { metadata: { ownerReferences: [{ ...OWNERS[0], name: "other" }] } },
        /<gateway>-<cl/,
      ],
      [
        service(),
        { metadata: { labels: { "app.kubernetes.io/managed-by": null } } },
        /only if they/,
      ],
      [
        slice(),
        { metadata: { labels: { "kubernetes.io/service-name": "kube-dns" } } },
        /must be of the Service/,
      ],
      [slice(), { ports: [{ name: "p80", port: 53, protocol: "UDP" }] }, /only ports of/],
    ];
    for (const [object, changes, says] of CHANGES) {
      match(messageOf(await patch(controller, namespace, object, changes)), says);
    }
    const { status } = await patch(controller, namespace, service(), {
      metadata: { annotations: { a: "b" } },
    });
    equal(status, 200);
  },
);

policyTest(
  "a Gateway of another class is refused with the variable to change",
  async ({ cluster, token }) => {
    await using scene = await AddressScene.create(cluster, { token, system: NAMESPACE });
    scene.keeper.sync([scene.plan({ gateway: { className: "other" } })]);
    const { fault } = await scene.until("web", ({ fault }) => fault?.reason === "Invalid");
    match(fault?.message ?? "", /add the class to the variable gatewayClasses/);
  },
);

policyTest(
  "with all of pingress-system gone and policies made anew, other accounts are not refused",
  async ({ cluster, controller, namespace }) => {
    await cluster.request("DELETE", `/api/v1/namespaces/${NAMESPACE}/configmaps`);
    const policies = await policyObjects();
    for (const { apiVersion, kind, metadata } of [...policies].reverse()) {
      await cluster.delete(apiVersion, kind, metadata.name);
    }
    const internal = {
      ...LABELS,
      "gateway.networking.k8s.io/gateway-class-name": "internal",
    };
    const ofInternal = service({ metadata: { name: "web-internal", labels: internal } });
    const foreign = service({ metadata: { labels: {}, ownerReferences: [] } });
    await cluster.apply(
      policies.map((policy) => withVariable(policy, "gatewayClasses", "['internal']")),
    );
    // From the first moment on, and until the API server has read the policies.
    await eventually("the policies of now are active", async () => {
      const other = await create(cluster, namespace, foreign);
      equal(other.status, 201, other.text);
      const refused = [
        await create(controller, namespace, service()),
        await create(controller, namespace, slice()),
      ];
      return refused.every(({ text }) => /out of internal;/.test(text));
    });
    equal((await create(controller, namespace, ofInternal)).status, 201);
    equal((await create(cluster, namespace, foreign)).status, 201);
    match(messageOf(await create(controller, namespace, foreign)), /only if they have the label/);
  },
);

async function policyObjects(): Promise<Policy[]> {
  return await manifest<Policy>("../overlays/gateway/admission-policy.yaml");
}

Deno.test("the policies' ports are the default of --listen-range", async () => {
  const policies = (await policyObjects()).filter(({ spec }) => spec.variables !== undefined);
  deepEqual(policies.map((policy) => variablesOf(policy).gatewayClasses), [
    '["pingress"]',
    '["pingress"]',
  ]);
  equal(variablesOf(policies[1]).listenRange, `"${formatPortRange(DEFAULT_LISTEN_RANGE)}"`);
});
