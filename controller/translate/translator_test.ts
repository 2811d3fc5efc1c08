/** What holds for every translation, whatever the objects; `tests/golden` has the rules one by one. */
import assert from "node:assert/strict";
import type { Problem } from "../../shared/problem.ts";
import { parseSnapshot } from "../../shared/snapshot/parse.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import {
  HOSTILE,
  ingress,
  merge,
  mutationsOf,
  NONE,
  randomNumbers,
  richResources,
  service,
  shuffle,
  victimObjects,
} from "../../tests/support/rich_cluster.ts";
import type { Ingress, Resources, Service } from "../kube/resources.ts";
import { readSecret } from "./certificates/certificate_source.ts";
import { ObjectReaders } from "./memory.ts";
import { translate, type TranslateOptions, type Translation, Translator } from "./translator.ts";
import { ObjectIndex } from "../base/identity.ts";
import { stableText } from "../base/json.ts";
import { TRANSLATE_OPTIONS } from "../../tests/support/translate_options.ts";

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  watchIngressWithoutClass: true,
  defaultBackend: { namespace: "team-a", name: "web", port: 80 },
  allowExternalName: true,
  version: { epoch: "file", seen: {} },
};
const NOW = Date.parse("2030-01-01T00:00:00Z");

Deno.test("the same objects in any order give the same bytes", () => {
  const resources = richResources();
  const expected = bytesOf(run(resources));
  const random = randomNumbers(1);
  for (let i = 0; i < 1000; i++) {
    const shuffled: Resources = {
      ingresses: shuffle(resources.ingresses, random),
      ingressClasses: shuffle(resources.ingressClasses, random),
      services: shuffle(resources.services, random),
      endpointSlices: shuffle(resources.endpointSlices, random),
      secrets: shuffle(resources.secrets, random),
    };
    assert.equal(bytesOf(run(shuffled)), expected);
  }
});

Deno.test("a translation does not modify its objects and the published snapshot", () => {
  const resources = deepFreeze(richResources());
  const { snapshot } = run(resources);
  deepFreeze(snapshot.routes);
  assert.equal(
    bytesOf(translate(resources, snapshot, OPTIONS, () => NOW)),
    bytesOf(run(resources)),
  );
});

Deno.test("time changes problems, never the snapshot", () => {
  const resources = richResources();
  const later = translate(resources, null, OPTIONS, () => Date.parse("2200-01-01T00:00:00Z"));
  assert.equal(bytesOf({ ...later, problems: [] }), bytesOf({ ...run(resources), problems: [] }));
  assert.ok(later.problems.some(({ reason }) => reason === "CertificateExpired"));
  assert.ok(!run(resources).problems.some(({ reason }) => reason === "CertificateExpired"));
});

Deno.test("the published loop mark stays, and without one the given one is used", () => {
  const markOf = (published: string | undefined, given: string | undefined) => {
    const before = published === undefined
      ? run(richResources()).snapshot
      : { ...run(richResources()).snapshot, loopMark: published };
    const options = given === undefined ? OPTIONS : { ...OPTIONS, loopMark: given };
    return translate(richResources(), before, options, () => NOW).snapshot.loopMark;
  };
  assert.equal(markOf("published", "given"), "published");
  assert.equal(markOf("published", undefined), "published");
  assert.equal(markOf(undefined, "given"), "given");
  assert.equal(markOf(undefined, undefined), undefined);
  const atFirst = translate(richResources(), null, { ...OPTIONS, loopMark: "given" }, () => NOW);
  assert.equal(atFirst.snapshot.loopMark, "given");
});

Deno.test("the proxy can read every resulting snapshot", () => {
  assertReadable(run(richResources()));
});

Deno.test("no key appears in a printed translation", () => {
  const translation = run(richResources());
  assert.equal(translation.snapshot.certificates.length, 3);
  for (const text of [JSON.stringify(translation), Deno.inspect(translation, { depth: 20 })]) {
    assert.doesNotMatch(text, /PRIVATE KEY/);
  }
});

Deno.test("a field of any type in one object does not affect the others", () => {
  const resources = richResources();
  const victim = victimObjects();
  const whole = merge(resources, victim);
  const others = othersOf(run(whole));
  assert.ok(others.routes.length >= 10 && others.certificates.length === 3);
  let mutations = 0;
  for (const kind of ["ingresses", "services", "endpointSlices", "secrets"] as const) {
    for (const [i, object] of victim[kind].entries()) {
      for (const mutated of mutationsOf(object)) {
        const objects = victim[kind].map((other, j) => j === i ? mutated : other);
        const translation = run(merge(resources, { ...victim, [kind]: objects }));
        assert.deepEqual(othersOf(translation), others, JSON.stringify(mutated));
        assertSafe(translation, mutated);
        mutations++;
      }
    }
  }
  assert.ok(mutations > 1000, `${mutations} mutations`);
});

Deno.test("elements of any type in the lists of objects do no harm", () => {
  const junk = [...HOSTILE, undefined, {}, { metadata: null }, {
    metadata: { name: "x" },
    spec: 5,
  }];
  const everywhere = junk as never[];
  const resources = richResources();
  const translation = run({
    ingresses: [...resources.ingresses, ...everywhere],
    ingressClasses: [...resources.ingressClasses, ...everywhere],
    services: [...resources.services, ...everywhere],
    endpointSlices: [...resources.endpointSlices, ...everywhere],
    secrets: [...resources.secrets, ...everywhere],
  });
  assert.deepEqual(translation.snapshot.routes, run(resources).snapshot.routes);
  assertReadable(translation);
});

Deno.test("unknown annotations change nothing, but unknown ones of pingress.io are reported", () => {
  const plain = run(richResources());
  for (const value of ["\n", '"', ";", "{}", "#", "${HOME}", "return 200;", "\u0000"]) {
    for (const name of ["example.com/own", "pingress.io/unknown", value]) {
      const annotate = (ingress: Ingress) => ({
        ...ingress,
        metadata: {
          ...ingress.metadata,
          annotations: { ...ingress.metadata?.annotations, [name]: value },
        },
      });
      const resources = richResources();
      const annotated = { ...resources, ingresses: resources.ingresses.map(annotate) };
      const translation = run(annotated);
      const isNew = ({ reason, field }: Problem) =>
        reason === "AnnotationUnknown" && field.includes("pingress.io/unknown");
      const problems = translation.problems.filter((problem) => !isNew(problem));
      assert.equal(bytesOf({ ...translation, problems }), bytesOf(plain));
      assert.equal(translation.problems.some(isNew), name === "pingress.io/unknown");
    }
  }
});

Deno.test("ten thousand Ingresses become ten thousand routes", () => {
  const ingresses: Ingress[] = [];
  const services: Service[] = [];
  for (let i = 0; i < 10_000; i++) {
    const namespace = `team-${i % 100}`;
    ingresses.push(ingress(`web-${i}`, namespace, [`host-${i}.example.com`, "/", `svc-${i}`]));
    services.push(service(`svc-${i}`, namespace));
  }
  const translation = run({ ...NONE, ingresses, services });
  assert.equal(translation.snapshot.routes.length, 10_000);
  assert.equal(translation.snapshot.upstreams.length, 10_000);
  assert.equal(translation.statuses.length, 10_000);
});

/** What the victim must not touch. */
function othersOf({ snapshot, statuses }: Translation) {
  const isOther = (of: { readonly namespace: string }) =>
    of.namespace === "team-a" || of.namespace === "team-b";
  return {
    routes: snapshot.routes.filter(({ origin }) => isOther(origin)),
    defaultAction: snapshot.defaultAction,
    upstreams: snapshot.upstreams.filter(({ id }) => id.startsWith("team-")),
    certificates: snapshot.certificates.filter(({ origin }) => isOther(origin))
      .map(({ id, hosts }) => ({ id, hosts })),
    statuses: statuses.filter(({ object }) => isOther(object)),
  };
}

/** A result that can be printed and published. */
function assertSafe(translation: Translation, cause: unknown): void {
  for (const { message, remedy, field, reason } of translation.problems) {
    assert.match(`${message}${remedy}`, /^[\x20-\x7e…–]+$/, JSON.stringify(cause));
    assert.doesNotMatch(`${message}|${remedy}`, /\.$|\.\||undefined|\[object/);
    assert.match(reason, /^[A-Z][A-Za-z]+$/);
    assert.equal(typeof field, "string");
  }
  assertReadable(translation);
}

function assertReadable({ snapshot }: Translation): void {
  const text = serialiseSnapshot(snapshot, { revealKeys: true });
  const parsed = parseSnapshot(text);
  assert.deepEqual(parsed.problems, []);
  assert.ok(parsed.snapshot !== null);
  assert.equal(serialiseSnapshot(parsed.snapshot, { revealKeys: true }), text);
}

/** Shared by all translators here: to read a Secret takes a hundred times as long as the rest. */
const secrets = new ObjectIndex(readSecret);

/** By a translator that remembers nothing but what is in single Secrets. */
function run(resources: Resources): Translation {
  const translator = new Translator({ ...new ObjectReaders(), secrets });
  return translator.translate(resources, null, OPTIONS, () => NOW);
}

function bytesOf({ snapshot, problems, statuses }: Translation): string {
  return serialiseSnapshot(snapshot, { revealKeys: true }) + stableText({ problems, statuses });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
