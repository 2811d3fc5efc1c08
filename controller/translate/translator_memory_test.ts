/** What was translated before makes a translation quicker, and nothing else. */
import assert from "node:assert/strict";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";
import {
  ingress,
  merge,
  mutationsOf,
  randomNumbers,
  richResources,
  service,
  shuffle,
  slice,
  victimObjects,
} from "../../tests/support/rich_cluster.ts";
import type { Ingress, Resources } from "../kube/resources.ts";
import { readSecret } from "./certificates/certificate_source.ts";
import { ObjectReaders } from "./memory.ts";
import {
  DEFAULT_CLUSTER_BOUNDS,
  type TranslateOptions,
  type Translation,
  Translator,
} from "./translator.ts";
import { ObjectIndex } from "../base/identity.ts";
import { stableText } from "../base/json.ts";
import { TRANSLATE_OPTIONS } from "../../tests/support/translate_options.ts";

const KINDS = ["ingresses", "ingressClasses", "services", "endpointSlices", "secrets"] as const;

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  watchIngressWithoutClass: true,
  defaultBackend: { namespace: "team-a", name: "web", port: 80 },
  allowExternalName: true,
  version: { epoch: "file", seen: {} },
};

/** Each differs from the first in what something is decided by. */
const OPTION_SETS: readonly TranslateOptions[] = [
  OPTIONS,
  { ...OPTIONS, allowLocalEndpoints: true },
  { ...OPTIONS, nginxClasses: ["pingress"] },
  { ...OPTIONS, acceptUnsupported: ["auth-tls-secret"] },
  { ...OPTIONS, allowAcceptUnsupportedAnnotation: true },
  { ...OPTIONS, hostOwnership: "shared" },
  {
    ...OPTIONS,
    claims: new Map([[
      "app.example.com",
      [
        { namespace: "team-b", since: "2029-01-01T00:00:00Z" },
        { namespace: "team-a", since: "2029-02-01T00:00:00Z" },
      ],
    ]]),
  },
  { ...OPTIONS, namespaceBounds: { routes: 6, hostBytes: 4096, certificates: 100 } },
  { ...OPTIONS, namespaceBounds: { routes: 100, hostBytes: 150, certificates: 2 } },
  { ...OPTIONS, allowExternalName: false, defaultBackend: null },
  { ...OPTIONS, watchIngressWithoutClass: false, ingressClasses: ["nginx"] },
  { ...OPTIONS, defaultBackend: { namespace: "team-a", name: "gone", port: "http" } },
];
const TIMES = [Date.parse("2030-01-01T00:00:00Z"), Date.parse("2200-01-01T00:00:00Z")];

/** One call, with what it gave. */
interface Call {
  readonly resources: Resources;
  readonly published: Snapshot | null;
  readonly options: TranslateOptions;
  readonly now: number;
  readonly text: TranslationText;
  readonly snapshot: Snapshot;
}

Deno.test("objects that differ in any field give the same after other objects as alone", () => {
  const victim = victimObjects();
  const rich = richResources();
  const call = callsOf(new Translator());
  const calls: Call[] = [];
  for (const kind of KINDS) {
    for (const [i, object] of victim[kind].entries()) {
      for (const mutated of mutationsOf<object>(object)) {
        const objects = victim[kind].map((other, j) => j === i ? mutated : other);
        calls.push(call(merge(rich, { ...victim, [kind]: objects }), null, OPTIONS, TIMES[0]));
        if (calls.length % 10 === 0) calls.push(call(merge(rich, victim), null, OPTIONS, TIMES[0]));
      }
    }
  }
  assert.ok(calls.length > 1000, `${calls.length} calls`);
  for (const each of calls) assertSameWhenNew(each);
});

Deno.test("objects that are added, changed and deleted leave nothing behind, with any options", () => {
  const random = randomNumbers(7);
  const below = (count: number) => Math.floor(random() * count);
  const mutants = new Map(
    KINDS.map((kind) => [kind, victimObjects()[kind].flatMap((one) => [...mutationsOf(one)])]),
  );
  const whole = merge(richResources(), victimObjects());
  const call = callsOf(new Translator());
  const calls: Call[] = [];
  let resources = whole;
  let published: Snapshot | null = null;
  for (let step = 0; step < 2000; step++) {
    for (let change = below(4); change > 0; change--) {
      const kind = KINDS[below(KINDS.length)];
      const list: readonly object[] = resources[kind];
      const index = below(list.length);
      const pool: readonly object[] = random() < 0.7 ? whole[kind] : mutants.get(kind) ?? [];
      const other = pool[below(pool.length)];
      const changed = [
        () => list.toSpliced(index, 1),
        () => other === undefined ? list : [...list, other],
        () => other === undefined ? list : list.with(index, other),
        () => list.map((object, i) => i === index ? { ...object } : object),
        () => list.toReversed(),
        () => shuffle(list, random),
        () => whole[kind],
      ][below(list.length === 0 ? 2 : 7)]();
      resources = { ...resources, [kind]: changed };
    }
    const options = random() < 0.8 ? OPTIONS : OPTION_SETS[below(OPTION_SETS.length)];
    const now = TIMES[random() < 0.9 ? 0 : 1];
    const made = call(resources, published, options, now);
    calls.push(made);
    if (random() < 0.3) published = random() < 0.1 ? null : made.snapshot;
  }
  for (const each of calls) assertSameWhenNew(each);
});

Deno.test("Ingresses with and without shared hosts, backends and Secrets change one by one", () => {
  const tight = { ...OPTIONS, namespaceBounds: { routes: 12, hostBytes: 4096, certificates: 2 } };
  const clusterBounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes: 40_000 };
  const full = { ...OPTIONS, clusterBounds };
  const sets = [OPTIONS, OPTIONS, OPTIONS, tight, full];
  for (const [seed, options] of sets.entries()) {
    const cluster = new ChangingCluster(seed);
    const call = callsOf(new Translator());
    const readers = new ObjectReaders();
    let published: Snapshot | null = null;
    const calls: Call[] = [];
    for (let step = 0; step < 400; step++) {
      const made = call(cluster.resources, published, options, TIMES[0]);
      calls.push(made);
      if (step % 7 === 0) published = made.snapshot;
      cluster.change();
    }
    for (const each of calls) assertSameWhenNew(each, readers);
  }
});

Deno.test("equal objects with other identities give the same bytes, problems and statuses", () => {
  const call = callsOf(new Translator());
  for (const options of OPTION_SETS) {
    const first = call(richResources(), null, options, TIMES[0]);
    assertSameWhenNew(first);
    assertSameText(call(first.resources, null, options, TIMES[0]).text, first.text);
    assertSameText(call(richResources(), null, options, TIMES[0]).text, first.text);
  }
});

Deno.test("translators of two clusters in one process give the same as each alone", () => {
  const clusters = [new ChangingCluster(5), new ChangingCluster(6)];
  // The third gets the very objects of the first.
  const calls = [0, 1, 0].map((cluster) => ({ cluster, call: callsOf(new Translator()) }));
  const published: (Snapshot | null)[] = [null, null, null];
  for (let step = 0; step < 120; step++) {
    const made = calls.map(({ cluster, call }, i) =>
      call(clusters[cluster].resources, published[i], OPTIONS, TIMES[0])
    );
    for (const each of made) assertSameWhenNew(each);
    const routes = new Set(made[0].snapshot.routes);
    assert.ok(made[2].snapshot.routes.every((route) => !routes.has(route)), "shared routes");
    // Each in turn, also what another cluster published.
    if (step % 7 === 0) published[step % 3] = made[step % 2].snapshot;
    for (const cluster of clusters) cluster.change();
  }
});

Deno.test("a failed translation leaves nothing behind", () => {
  const web = (name: string, host: string, backend = "web") =>
    ingress(name, "team-a", [host, "/", backend]);
  const whole: Resources = {
    ...richResources(),
    ingresses: Array.from({ length: 20 }, (_, i) => web(`app-${i}`, `app-${i}.example.com`)),
    services: [service("web", "team-a"), failingOnSecondRead(service("failing", "team-a"))],
  };
  const options: TranslateOptions = { ...OPTIONS, hostOwnership: "shared" };
  const translator = new Translator();
  const run = (ingresses: Resources["ingresses"]) =>
    translator.translate({ ...whole, ingresses }, null, options, () => TIMES[0]);
  const { ingresses } = whole;
  run(ingresses);
  // Where its first Ingress was replaced, routes of its host have been forgotten when it fails.
  assert.throws(() => run(ingresses.with(0, web("app-0", "other.example.com", "failing"))), /Gone/);
  run(ingresses);
  const { snapshot, problems } = run([...ingresses, web("late", "app-0.example.com")]);
  const ids = snapshot.routes.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)]);
  assert.deepEqual(
    problems.filter(({ object }) => object?.name === "late").map(({ reason }) => reason),
    ["PathConflict"],
  );
});

Deno.test("unchanged objects keep the identity of their parts of a snapshot", () => {
  const run = runsOf(new Translator());
  const resources = richResources();
  const first = run(resources);
  const again = run({ ...resources, ingresses: resources.ingresses.toReversed() });
  assertSameParts(first, again, () => true);

  const index = resources.endpointSlices.findIndex(({ metadata }) => metadata?.name === "web-1");
  const slice = resources.endpointSlices[index];
  const fewer = { ...slice, endpoints: slice.endpoints?.slice(1) };
  const later = run({
    ...resources,
    endpointSlices: resources.endpointSlices.with(index, fewer),
  });
  assertSameParts(first, later, (id) => id !== "team-a/web:80");
  const upstreamOf = ({ snapshot }: Translation) =>
    snapshot.upstreams.find(({ id }) => id === "team-a/web:80");
  assert.notDeepEqual(upstreamOf(later), upstreamOf(first));
});

Deno.test("an EndpointSlice with equal content changes no part of a snapshot", () => {
  const run = runsOf(new Translator());
  const resources = richResources();
  const first = run(resources);
  const touched = resources.endpointSlices.map((slice) => ({
    ...slice,
    metadata: { ...slice.metadata, annotations: { at: "now" } },
  }));
  assertSameParts(first, run({ ...resources, endpointSlices: touched }), () => true);
});

Deno.test("unchanged lists of a snapshot keep their identity", () => {
  const run = runsOf(new Translator());
  const resources = richResources();
  const first = run(resources);
  const again = run({ ...resources, services: [...resources.services] });
  assert.equal(again.snapshot.routes, first.snapshot.routes);
  assert.equal(again.snapshot.upstreams, first.snapshot.upstreams);
  assert.equal(again.snapshot.certificates, first.snapshot.certificates);
  assert.equal(again.statuses, first.statuses);
});

Deno.test("objects nested too deeply to compare do no harm", () => {
  const run = runsOf(new Translator());
  const deep: unknown = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  const resources = richResources();
  const twins = [1, 2].map(() => ({
    metadata: { name: "deep", namespace: "team-a", annotations: deep },
    spec: { rules: deep, tls: deep, ports: deep },
  })) as never[];
  const { snapshot } = run({
    ...resources,
    ingresses: [...resources.ingresses, ...twins],
    services: [...resources.services, ...twins],
    secrets: [...resources.secrets, ...twins],
  });
  assert.deepEqual(snapshot.routes, run(resources).snapshot.routes);
});

/** Sixty Ingresses; a change is mostly one of them replaced. */
class ChangingCluster {
  resources: Resources;
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomNumbers(seed);
    const { ingressClasses, secrets } = richResources();
    const names = ["a", "b", "c", "d"];
    this.resources = {
      ingressClasses,
      secrets,
      ingresses: Array.from({ length: 60 }, (_, i) => this.#ingress(`app-${i}`)),
      services: names.map((name, i) => ({
        ...service(name, "team-a"),
        ...(i === 0 ? { spec: { ports: [{ name: "http", port: 80, appProtocol: "https" }] } } : {}),
      })),
      endpointSlices: names.map((name) => this.#slice(name)),
    };
  }

  change(): void {
    const { ingresses, services, endpointSlices, secrets } = this.resources;
    const at = (list: readonly unknown[]) => this.#below(list.length);
    const name = `app-${this.#below(70)}`;
    const index = ingresses.findIndex(({ metadata }) => metadata?.name === name);
    const changes: Partial<Resources>[] = [
      {
        ingresses: index === -1
          ? [...ingresses, this.#ingress(name)]
          : ingresses.with(index, this.#ingress(name)),
      },
      index === -1 ? {} : { ingresses: ingresses.toSpliced(index, 1) },
      {
        endpointSlices: endpointSlices.with(at(endpointSlices), this.#slice("bcd"[this.#below(3)])),
      },
      { services: services.with(at(services), { ...services[at(services)] }) },
      { secrets: secrets.with(at(secrets), { ...secrets[at(secrets)] }) },
      { ingresses: [...ingresses, { ...ingresses[at(ingresses)] }] },
    ];
    const choice = [0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4][this.#below(12)];
    const chosen = this.#below(100) === 0 ? 5 : choice;
    this.resources = { ...this.resources, ...changes[chosen] };
  }

  /** Of an age that its name decides, mostly, as a change leaves it as it is. */
  #ingress(name: string): Ingress {
    const day = (name.length * 7 + name.charCodeAt(name.length - 1) + this.#rarely(20)) % 28 + 1;
    const own = `${name}.example.com`;
    const host = () => this.#rarely(4) ? `shared-${this.#below(3)}.example.com` : own;
    const backend = () => ({
      service: { name: "abcdx"[this.#below(5)], port: { number: this.#rarely(9) ? 81 : 80 } },
    });
    return {
      metadata: {
        name,
        namespace: "team-a",
        creationTimestamp: `2020-01-${String(day).padStart(2, "0")}T00:00:00Z`,
        annotations: {
          ...(this.#rarely(9) ? { "nginx.ingress.kubernetes.io/app-root": "/" } : {}),
          ...(this.#rarely(9) ? { "nginx.ingress.kubernetes.io/auth-tls-secret": "a/ca" } : {}),
          ...(this.#rarely(9) ? { "nginx.ingress.kubernetes.io/auth-url": "https://a/" } : {}),
          ...(this.#rarely(5)
            ? {
              "nginx.ingress.kubernetes.io/backend-protocol": ["GRPC", "HTTPS"][this.#below(2)],
            }
            : {}),
          ...(this.#rarely(5)
            ? { "nginx.ingress.kubernetes.io/default-backend": "abcdx"[this.#below(5)] }
            : {}),
          ...(this.#rarely(9)
            ? { "nginx.ingress.kubernetes.io/proxy-ssl-secret": `team-a/${this.#secretName()}` }
            : {}),
          ...(this.#rarely(5)
            ? { "nginx.ingress.kubernetes.io/proxy-read-timeout": `${1 + this.#below(3)}` }
            : {}),
          ...(this.#rarely(9) ? { "nginx.ingress.kubernetes.io/canary": "true" } : {}),
          ...(this.#rarely(9) ? { "pingress.io/accept-unsupported": "auth-url" } : {}),
        },
      },
      spec: {
        defaultBackend: this.#rarely(25) ? backend() : null,
        rules: this.#rarely(40) ? null : Array.from({ length: 1 + this.#rarely(3) }, () => ({
          host: host(),
          http: this.#rarely(9) ? null : {
            paths: Array.from({ length: 1 + this.#below(3) }, () => ({
              path: ["/", "/a", "/b", "a"][this.#below(4)],
              pathType: this.#rarely(3) ? "Exact" : "Prefix",
              backend: backend(),
            })),
          },
        })),
        tls: this.#rarely(3)
          ? [{ hosts: this.#rarely(3) ? null : [host()], secretName: this.#secretName() }]
          : null,
      },
    };
  }

  #slice(name: string) {
    const addresses = this.#rarely(3) ? [] : [`10.0.0.${1 + this.#below(9)}`];
    return slice(name, "team-a", `${name}-1`, addresses);
  }

  #secretName(): string {
    return ["app-tls", "two-tls", "missing"][this.#below(3)];
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  /** 1 once in `times`, else 0. */
  #rarely(times: number): 0 | 1 {
    return this.#below(times) === 0 ? 1 : 0;
  }
}

function runsOf(translator: Translator): (resources: Resources) => Translation {
  return (resources) => translator.translate(resources, null, OPTIONS, () => TIMES[0]);
}

type CallInputs = [
  resources: Resources,
  published: Snapshot | null,
  options: TranslateOptions,
  now: number,
];

function callsOf(translator: Translator): (...inputs: CallInputs) => Call {
  return (resources, published, options, now) => {
    const made = translator.translate(resources, published, options, () => now);
    return { resources, published, options, now, text: textOf(made), snapshot: made.snapshot };
  };
}

/** Shared by new translators alone: to read a Secret takes a hundred times as long as the rest. */
const secrets = new ObjectIndex(readSecret);

/**
 * The same call, of a translator that has nothing remembered but what is in single Secrets, or, where
 * what stages remember is tried, in single objects: `readers` are those of new translators alone.
 */
function assertSameWhenNew(
  { resources, published, options, now, text }: Call,
  readers: ObjectReaders = { ...new ObjectReaders(), secrets },
): void {
  const translator = new Translator(readers);
  const made = translator.translate(resources, published, options, () => now);
  assertSameText(textOf(made), text);
}

/** As no object of an API server is: it stands for a mistake of ours. */
function failingOnSecondRead<T extends object>(object: T): T {
  let reads = 0;
  return Object.defineProperty({ ...object }, "spec", {
    get() {
      if (++reads > 1) throw new Error("Gone");
      return { ports: [{ name: "http", port: 80 }] };
    },
  });
}

/** @param isUnchanged By id of an upstream. */
function assertSameParts(
  before: Translation,
  after: Translation,
  isUnchanged: (upstream: string) => boolean,
): void {
  assert.equal(after.snapshot.routes.length, before.snapshot.routes.length);
  for (const [i, route] of before.snapshot.routes.entries()) {
    assert.equal(after.snapshot.routes[i], route, route.id);
  }
  for (const [i, upstream] of before.snapshot.upstreams.entries()) {
    if (isUnchanged(upstream.id)) assert.equal(after.snapshot.upstreams[i], upstream, upstream.id);
  }
  for (const [i, certificate] of before.snapshot.certificates.entries()) {
    assert.equal(after.snapshot.certificates[i], certificate);
  }
}

/** As text, since later translations may change objects by mistake. */
interface TranslationText {
  readonly snapshot: string;
  readonly rest: string;
}

function textOf({ snapshot, problems, statuses }: Translation): TranslationText {
  return {
    snapshot: serialiseSnapshot(snapshot, { revealKeys: true }),
    rest: JSON.stringify({ problems, statuses }),
  };
}

/** The order of keys does not matter, and to sort them takes a quarter of the time of this file. */
function assertSameText(made: TranslationText, expected: TranslationText): void {
  assert.equal(made.snapshot, expected.snapshot);
  if (made.rest === expected.rest) return;
  assert.equal(stableText(JSON.parse(made.rest)), stableText(JSON.parse(expected.rest)));
}
