/**
 * Users' mistakes: each is told of where its user looks, changes nothing of anybody else's, and is
 * over once it is mended.
 */
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import assert from "node:assert/strict";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import { ApiRefusal, type KubeObject } from "./support/api_client.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually, waitFor } from "./support/condition.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { HOSTILE_TEXTS, hostileObjects, hugeIngresses } from "./support/hostile.ts";
import { endpointsAt, GOOD_PAIR, type Mistake, type Told } from "./support/mistake.ts";
import { MISTAKES } from "./support/mistakes.ts";
import { ownEvents } from "./support/own_events.ts";
import { REFUSED, REFUSED_ENDPOINTS } from "./support/refused.ts";

interface LiveEvent extends KubeObject {
  readonly reason: string;
  readonly message: string;
  readonly type: string;
  readonly count: number;
  readonly involvedObject: Readonly<Record<string, string>>;
}

const API_VERSIONS = {
  EndpointSlice: "discovery.k8s.io/v1",
  Ingress: "networking.k8s.io/v1",
  Secret: "v1",
  Service: "v1",
} as const;

async function eventsOf(scene: ControllerScene, namespace = scene.app): Promise<LiveEvent[]> {
  return await ownEvents<LiveEvent>(scene.cluster, namespace);
}

/** Those that `kubectl describe` shows with the object. */
async function described(
  scene: ControllerScene,
  kind: Told["kind"],
  name: string,
  namespace = scene.app,
): Promise<LiveEvent[]> {
  const object = await scene.cluster.get(API_VERSIONS[kind], kind, name, namespace);
  return await scene.cluster.list<LiveEvent>("v1", "Event", {
    namespace,
    fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name},` +
      `involvedObject.uid=${object?.metadata.uid}`,
  });
}

async function eventuallyTold(
  scene: ControllerScene,
  name: string,
  { kind, reason, field, severity, says }: Told,
  namespace = scene.app,
): Promise<void> {
  const isThis = (event: LiveEvent) => event.reason === reason;
  const event = await eventually(
    `Event ${reason} on ${kind} ${name}`,
    async () => (await described(scene, kind, name, namespace)).find(isThis),
  );
  assert.match(event.message, says);
  assert.ok(event.message.startsWith(`${field}: `), event.message);
  assert.equal(event.type, "Warning");
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(event.message, /[\x00-\x1f\x7f-\x9f\u2028\u202e]/);
  const object = `${kind} ${namespace}/${name}`;
  const shown = (await scene.problems()).filter((one) =>
    one.object === object && one.reason === reason
  );
  assert.deepEqual(shown.map((one) => [one.field, one.severity]), [[field, severity]]);
  assert.notEqual(shown[0].message, "");
  const metric = `pingress_config_problems{reason="${reason}"}`;
  assert.ok((await scene.controller.metric(metric) ?? 0) > 0, metric);
  const lines = scene.controller.lines.filter((line) =>
    line.object === object && line.reason === reason && line.problem !== undefined
  );
  assert.deepEqual(lines.map((line) => [line.level, line.field]), [
    [severity === "error" ? "error" : "warn", field],
  ]);
}

/** All that is published of one Ingress and its Secret, as bytes. */
function partOf(snapshot: Snapshot, name: string): string {
  const isOf = ({ origin }: { readonly origin: { readonly name?: string } }) =>
    origin.name === name;
  const routes = snapshot.routes.filter(isOf);
  const upstreams = new Set(
    routes.flatMap(({ action }) => upstreamsOf(action)),
  );
  return JSON.stringify({
    routes,
    upstreams: snapshot.upstreams.filter(({ id }) => upstreams.has(id)),
    certificates: snapshot.certificates.filter(isOf),
  });
}

/** What is right, beside all mistakes: a host of its own, and all others below example.com. */
async function makeNeighbour(scene: ControllerScene): Promise<void> {
  await scene.service("web", ["10.0.0.1", "10.0.0.2"]);
  await scene.service("fallback", ["10.0.0.9"]);
  await scene.tlsSecret("neighbour", GOOD_PAIR);
  await scene.ingress("neighbour", {
    rules: [rule("neighbour.example.com", "/", "web"), rule("*.example.com", "/", "fallback")],
    tls: [{ hosts: ["neighbour.example.com"], secretName: "neighbour" }],
  });
}

/** Waits until all that changed until now has been translated, published and told of. */
async function settled(scene: ControllerScene): Promise<void> {
  await scene.controller.line("Leading");
  await eventually("quiet controller", async () => {
    const { text } = await scene.controller.admin("/metrics");
    const waiting = text.split("\n").filter((line) =>
      /^pingress_controller_(changes_waiting_seconds|writes_waiting)/.test(line)
    );
    return waiting.length > 1 && waiting.every((line) => line.endsWith(" 0"));
  });
}

function actionAt(snapshot: Snapshot | null, { name }: Mistake): Mistake["gets"] {
  const route = snapshot?.routes.find(({ id }) => id === `${name}.example.com Prefix /`);
  if (route === undefined || route.origin.name !== name) return "nothing of it";
  const { action } = route;
  return action.kind === "forward" ? "backend" : action.status as 404 | 500 | 503;
}

clusterTest("errors in users' objects", async (cluster, context) => {
  await using scene = await ControllerScene.start(cluster, {
    args: ["--publish-address=203.0.113.1"],
  });
  await makeNeighbour(scene);
  const before = await scene.eventuallyPublished(
    "neighbour",
    ({ routes, certificates }) => routes.length === 2 && certificates.length === 1,
  );
  const neighbour = partOf(before, "neighbour");
  await scene.ingress("foreign", { ingressClassName: `foreign-${scene.app}` });
  await cluster.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "IngressClass",
    metadata: { name: `foreign-${scene.app}` },
    spec: { controller: "example.com/other" },
  } as unknown as KubeObject);
  for (const { make, name } of MISTAKES) await make(scene, name);
  await scene.ingress("last");
  await scene.eventuallyRouted("last.example.com Prefix /");
  await settled(scene);

  for (const mistake of MISTAKES) {
    await context.step(`${mistake.name} is reported`, async () => {
      for (const told of mistake.told) await eventuallyTold(scene, mistake.name, told);
      const reasons = (await described(scene, "Ingress", mistake.name)).map((one) => one.reason);
      const wanted = mistake.told.filter(({ kind }) => kind === "Ingress");
      assert.deepEqual(reasons.sort(), wanted.map(({ reason }) => reason).sort());
      assert.equal(actionAt(await scene.published(), mistake), mistake.gets);
    });
  }

  await context.step("no other object has a problem, or is served differently", async () => {
    assert.equal(partOf((await scene.published())!, "neighbour"), neighbour);
    const names = new Set((await eventsOf(scene)).map(({ involvedObject }) => involvedObject.name));
    const mistaken = MISTAKES.map(({ name }) => name);
    assert.deepEqual([...names].sort(), [...mistaken].sort());
    const foreign = await cluster.get("networking.k8s.io/v1", "Ingress", "foreign", scene.app);
    assert.deepEqual(foreign?.status, { loadBalancer: {} });
    const { text } = await scene.controller.admin("/problems");
    const lines = text.trimEnd().split("\n").slice(1, -1);
    assert.equal(lines.length, (await scene.problems()).length, "one a line");
    for (const line of lines) JSON.parse(line.replace(/,$/, ""));
    const objects = (await scene.problems()).map(({ object }) => object?.split("/")[1] ?? "");
    assert.deepEqual([...new Set(objects)].sort(), [...mistaken].sort());
  });

  await context.step("one Event each, also after more translations and a restart", async () => {
    const told = await eventsOf(scene);
    const keys = told.map(({ reason, involvedObject }) => `${involvedObject.uid} ${reason}`);
    assert.equal(new Set(keys).size, keys.length);
    for (let i = 0; i < 3; i++) {
      await scene.ingress(`again-${i}`);
      await scene.eventuallyRouted(`again-${i}.example.com`);
    }
    await scene.controller.stop();
    await scene.startController();
    await scene.ingress("again-3");
    await scene.eventuallyRouted("again-3.example.com");
    await settled(scene);
    const versionsOf = (events: readonly LiveEvent[]) =>
      events.map(({ metadata, count }) => `${metadata.name} ${metadata.resourceVersion} ${count}`)
        .sort();
    assert.deepEqual(versionsOf(await eventsOf(scene)), versionsOf(told));
    assert.equal(partOf((await scene.published())!, "neighbour"), neighbour);
  });

  for (const { name, mend } of MISTAKES) await (mend ?? mendIngress)(scene, name);
  for (const mistake of MISTAKES) {
    await context.step(`${mistake.name} is resolved once it is fixed`, async () => {
      await eventuallyOver(scene, mistake);
    });
  }

  await context.step(
    "no problem is left in metrics, and the other Ingress is unchanged",
    async () => {
      const { text } = await scene.controller.admin("/metrics");
      const left = text.split("\n").filter((line) =>
        /^pingress_config_problems.* [1-9]/.test(line)
      );
      assert.deepEqual(left, []);
      assert.equal(partOf((await scene.published())!, "neighbour"), neighbour);
      assert.deepEqual(scene.controller.noise, []);
    },
  );
});

async function mendIngress(scene: ControllerScene, name: string): Promise<void> {
  // Annotations that were applied before, and are applied no more, go.
  await scene.ingress(name);
}

async function eventuallyOver(scene: ControllerScene, mistake: Mistake): Promise<void> {
  const { name, told, certificate } = mistake;
  await scene.eventuallyPublished(
    `${name} on its backend`,
    (snapshot) =>
      actionAt(snapshot, mistake) === "backend" &&
      (certificate !== true ||
        snapshot.certificates.some(({ hosts, origin }) =>
          hosts.includes(`${name}.example.com`) && origin.name === name
        )),
  );
  const left = await waitFor(async () => {
    const problems = (await scene.problems()).filter(({ object }) => object?.endsWith(`/${name}`));
    return problems.length === 0 ? true : false;
  });
  assert.ok(left, JSON.stringify(await scene.problems()));
  for (const { kind, reason, field } of told) {
    const object = `${kind} ${scene.app}/${name}`;
    await scene.controller.line((line) =>
      line.message === "Problem resolved" && line.object === object && line.reason === reason &&
      line.field === field
    );
  }
}

clusterTest(
  "objects that the API server rejects are reported by it at once",
  async (cluster, context) => {
    const namespace = await cluster.newNamespace();
    const isRefused = (object: Partial<KubeObject>) =>
      assert.rejects(cluster.apply(object, { namespace }), (error) => {
        assert.ok(error instanceof ApiRefusal && error.status === 422, String(error));
        return true;
      });
    for (const address of REFUSED_ENDPOINTS) {
      await context.step(`endpoint ${address}`, () => isRefused(endpointsAt("refused", address)));
    }
    for (const [what, spec] of REFUSED) {
      await context.step(what, async () => {
        const ingress = {
          apiVersion: "networking.k8s.io/v1",
          kind: "Ingress",
          metadata: { name: "refused" },
          spec: {
            ingressClassName: "pingress",
            rules: [rule("refused.example.com", "/", "web")],
            ...spec,
          },
        } as unknown as KubeObject;
        await isRefused(ingress);
      });
    }
  },
);

/** An Ingress of a name in any namespace, with `web` for its backend. */
async function ingressIn(
  { cluster }: ControllerScene,
  namespace: string,
  name: string,
  spec: Record<string, unknown>,
): Promise<void> {
  await cluster.apply({
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name },
    spec: { ingressClassName: "pingress", ...spec },
  } as unknown as KubeObject, { namespace });
}

/** Waits until the API server, which gives ages in seconds, gives another than until now. */
async function nextSecond(): Promise<void> {
  const second = () => Math.floor(Date.now() / 1000);
  const now = second();
  await eventually("next second", () => second() > now);
}

clusterTest(
  "of two conflicting Ingresses the older one wins, and the other is reported",
  async (cluster) => {
    // The newer one's name comes first in every order, and it has the certificate that fits.
    const [newer, older] = [await cluster.newNamespace("a"), await cluster.newNamespace("z")];
    await using scene = await ControllerScene.start(cluster, {
      args: [
        `--watch-namespace=${older}`,
        `--watch-namespace=${newer}`,
        "--host-ownership=shared",
      ],
    });
    await makeNeighbour(scene);
    const war = {
      rules: [rule("war.example.com", "/", "web"), rule("war.example.com", "/api", "web")],
      tls: [{ hosts: ["war.example.com"], secretName: "war" }],
    };
    await ingressIn(scene, older, "war", war);
    await nextSecond();
    await scene.cluster.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "war" },
      type: "kubernetes.io/tls",
      stringData: GOOD_PAIR,
    } as Partial<KubeObject>, { namespace: newer });
    const more = { ...war, rules: [...war.rules, rule("war.example.com", "/new", "web")] };
    await ingressIn(scene, newer, "war", more);

    const owners = ({ routes }: Snapshot) =>
      routes.filter(({ host }) => host === "war.example.com")
        .map(({ match: { path }, origin }) =>
          `${path.value} ${"namespace" in origin ? origin.namespace : ""}`
        )
        .sort();
    const whileBoth = [`/ ${older}`, `/api ${older}`, `/new ${newer}`];
    const snapshot = await scene.eventuallyPublished(
      "both",
      (each) => owners(each).join() === whileBoth.join(),
    );
    const neighbour = partOf(snapshot, "neighbour");
    assert.equal(
      snapshot.certificates.some(({ hosts }) => hosts.includes("war.example.com")),
      false,
    );
    await settled(scene);
    const [event, ...others] = (await described(scene, "Ingress", "war", newer))
      .filter(({ reason }) => reason === "PathConflict");
    assert.deepEqual(others, []);
    assert.match(
      event.message,
      new RegExp(`Prefix / of war\\.example\\.com belongs to .*${older}`),
    );
    assert.match(event.message, /Use another host or path.* \(and 1 more like it\)$/);
    await eventuallyTold(scene, "war", {
      kind: "Ingress",
      reason: "TlsHostConflict",
      field: "spec.tls[0].hosts[0]",
      severity: "error",
      says: /chosen by .*Reference the same Secret in both/,
    }, newer);
    const ofWinner = await described(scene, "Ingress", "war", older);
    assert.deepEqual(
      ofWinner.map(({ reason }) => reason).sort(),
      ["SecretNotFound", "ServiceNotFound"],
    );

    // Whatever is seen first, and whoever looks.
    await ingressIn(scene, older, "war", { ...war, rules: war.rules.toReversed() });
    await scene.controller.stop();
    await scene.startController();
    await scene.ingress("after-restart");
    const after = await scene.eventuallyRouted("after-restart.example.com");
    assert.deepEqual(owners(after), whileBoth);

    await scene.cluster.delete("networking.k8s.io/v1", "Ingress", "war", older);
    const free = await scene.eventuallyPublished(
      "the newer one alone",
      (each) => owners(each).every((owner) => owner.endsWith(newer)) && owners(each).length === 3,
    );
    assert.ok(free.certificates.some(({ hosts }) => hosts.includes("war.example.com")));
    assert.equal(partOf(free, "neighbour"), neighbour);
    await scene.controller.line((line) =>
      line.message === "Problem resolved" && line.reason === "PathConflict" &&
      line.object === `Ingress ${newer}/war`
    );
  },
);

clusterTest("no content of an object breaks or forges anything", async (cluster) => {
  await using scene = await ControllerScene.start(cluster);
  await makeNeighbour(scene);
  const before = await scene.eventuallyPublished(
    "neighbour",
    ({ routes, certificates }) => routes.length === 2 && certificates.length === 1,
  );
  const neighbour = partOf(before, "neighbour");
  const taken = new Map<string, number>();
  const objects = [
    ...HOSTILE_TEXTS.flatMap((text, i) => hostileObjects(text, `hostile-${i}`)),
    ...hugeIngresses(),
  ];
  for (const object of objects) {
    // As JSON, which can say more than the YAML of an apply.
    const accepted = await cluster.create(object, scene.app).then(
      () => true,
      (error) => {
        if (error instanceof ApiRefusal && error.status < 500) return false;
        throw error;
      },
    );
    const kind = `${object.kind} ${object.metadata.name.replace(/^hostile-\d+-/, "")}`;
    if (accepted) taken.set(kind, (taken.get(kind) ?? 0) + 1);
  }
  // The API server must let enough of it through for the rest to mean anything.
  assert.ok(taken.size > 12, JSON.stringify([...taken]));
  assert.equal(taken.get("Ingress note"), HOSTILE_TEXTS.length);
  assert.equal(taken.get("Service note"), HOSTILE_TEXTS.length);
  assert.ok(taken.get("Ingress path-implementationspecific")! > 8, JSON.stringify([...taken]));
  assert.equal([...taken.keys()].filter((kind) => kind.includes("huge-")).length, 7);

  await scene.ingress("last");
  const after = await scene.eventuallyRouted("last.example.com Prefix /");
  await settled(scene);
  assert.equal(partOf(after, "neighbour"), neighbour);
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  const others = (snapshot: Snapshot) =>
    JSON.stringify(
      snapshot.routes.filter(({ origin }) => origin.name !== "last" && !names.has(origin.name)),
    );
  assert.equal(others(after), others(before));
  for (const { host } of after.routes) assert.match(host, /^[a-z0-9.*-]+$/);
  for (const { match: { path } } of after.routes) assert.match(path.value, /^\/[\x21-\x7e]*$/);

  const problems = await scene.problems();
  assert.deepEqual(problems.filter(({ reason }) => reason === "Quarantined"), []);
  const events = await eventsOf(scene);
  assert.ok(events.length > 50, String(events.length));
  for (const { message, involvedObject } of events) {
    assert.match(message, /^[^\p{Cc}\p{Cf}\u2028\u2029]+$/u, involvedObject.name);
    assert.ok(new TextEncoder().encode(message).length <= 1024);
    assert.doesNotMatch(message, /PRIVATE KEY/);
  }
  assert.ok(events.some(({ message }) => message.endsWith("(and 999 more like it)")));
  const { controller } = scene;
  assert.deepEqual(controller.noise, []);
  for (const line of controller.lines) {
    assert.doesNotMatch(JSON.stringify(line.message), /forged|red/);
    assert.ok(JSON.stringify(line).length < 20_000);
  }
  const unhandled = controller.lines.filter(({ message }) =>
    /Unhandled|aborted/.test(`${message}`)
  );
  assert.deepEqual(unhandled, []);
  const { text } = await controller.admin("/metrics");
  // deno-lint-ignore no-control-regex
  assert.match(text, /^[\x0a\x20-\x7e]*$/);
  assert.equal((await controller.admin("/readyz")).status, 200);
  assert.equal(await controller.stop(), 0);
});
