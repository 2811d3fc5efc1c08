/**
 * What a change of one object costs the controller before anything is published: the CPU of
 * `translate` and of `serialiseSnapshot` in a large cluster, and the memory that it all takes.
 *
 * `deno run -P=bench bench/translate.ts`. In: nothing. Out: a table, medians of 20 changes each.
 */
import process from "node:process";
import type { Ingress, KubeSecret, Resources } from "../controller/kube/resources.ts";
import {
  type TranslateOptions,
  type Translation,
  Translator,
} from "../controller/translate/translator.ts";
import { serialiseSnapshot } from "../shared/snapshot/serialise.ts";
import { annotated, rewritten } from "../tests/support/large_annotations.ts";
import { LARGE, largeCluster, withObject } from "../tests/support/large_cluster.ts";
import { TRANSLATE_OPTIONS } from "../tests/support/translate_options.ts";
import { taskOptions } from "../tools/task_options.ts";

taskOptions(
  {
    name: "deno task bench:translate",
    summary: "Measures the CPU time of translating one change among 10,000 Ingresses.",
  },
  {},
  Deno.args,
);

const OPTIONS: TranslateOptions = {
  ...TRANSLATE_OPTIONS,
  version: { epoch: "bench", seen: {} },
};
const ROUNDS = 20;

/** Distinct sets of values of annotations, and whether paths are rewritten; 0 for none. */
const POPULATIONS: readonly { readonly sets: number; readonly rewrites: boolean }[] = [
  { sets: 0, rewrites: false },
  { sets: 20, rewrites: false },
  { sets: 10_000, rewrites: false },
  { sets: 20, rewrites: true },
  { sets: 10_000, rewrites: true },
];

const ANNOTATED_ROUNDS = 9;

/** One object replaced by one that differs, the `round`th of its kind. */
const CHANGES: Readonly<Record<string, (from: Resources, round: number) => Resources>> = {
  "nothing, in new lists": (from) => withObject(from, "ingresses", 0, from.ingresses[0]),
  "one Ingress": (from, round) => {
    const index = round * 97;
    return withObject(from, "ingresses", index, withPath(from.ingresses[index], `/v${round}`));
  },
  "one host": (from, round) => {
    const index = round * 97;
    const ingress = from.ingresses[index];
    const [rule] = ingress.spec?.rules ?? [];
    const rules = [{ ...rule, host: `new-${round}.example.com` }];
    return withObject(from, "ingresses", index, { ...ingress, spec: { ...ingress.spec, rules } });
  },
  "one EndpointSlice": (from, round) => {
    const index = round * 31;
    const slice = from.endpointSlices[index];
    const endpoints = (slice.endpoints ?? []).slice(1);
    return withObject(from, "endpointSlices", index, { ...slice, endpoints });
  },
  "one Service": (from, round) => {
    const index = round * 37;
    return withObject(from, "services", index, structuredClone(from.services[index]));
  },
  "one Secret": (from, round) => {
    const index = round * 41;
    const renewed = { ...from.secrets[index], data: from.secrets[index + 4].data };
    return withObject(from, "secrets", index, renewed satisfies KubeSecret);
  },
};

function withPath(ingress: Ingress, path: string): Ingress {
  const [rule] = ingress.spec?.rules ?? [];
  const [entry] = rule.http?.paths ?? [];
  const rules = [{ ...rule, http: { paths: [{ ...entry, path }] } }];
  return { ...ingress, spec: { ...ingress.spec, rules } };
}

/** Path of one of two Ingresses of a host. */
const SHARED_CHANGES: typeof CHANGES = {
  "one Ingress of two of its host": (from, round) => CHANGES["one Ingress"](from, round),
};

const { resources } = await largeCluster(LARGE);
console.log(Object.entries(LARGE).map(([kind, count]) => `${count} ${kind}`).join(", "));
const before = residentMebibytes();
measure(resources, CHANGES);
console.log("the same, with two Ingresses of a namespace to a host");
measure({ ...resources, ingresses: inPairs(resources.ingresses) }, SHARED_CHANGES);

console.log("first translation of Ingresses of ingress-nginx, 8 annotations each, beside none");
measureAnnotations(resources);

/** Prints a line for each number of distinct sets of values; rounds alternate. */
function measureAnnotations(resources: Resources): void {
  const cases = POPULATIONS.map(({ sets, rewrites }) => ({
    name: sets === 0
      ? "no annotations"
      : `${sets} distinct sets of values${rewrites ? ", rewritten" : ""}`,
    resources: {
      ...resources,
      ingresses: rewrites
        ? rewritten(resources.ingresses, sets)
        : annotated(resources.ingresses, sets),
    },
    millis: [] as number[],
  }));
  for (let round = 0; round < ANNOTATED_ROUNDS; round++) {
    for (const { resources, millis } of cases) {
      const translator = new Translator();
      const options = { ...OPTIONS, nginxClasses: OPTIONS.ingressClasses };
      millis.push(cpuMillis(() => translator.translate(resources, null, options, Date.now)).millis);
    }
  }
  const [plain] = cases.map(({ millis }) => median(millis));
  for (const { name, millis } of cases) {
    const ratio = median(cases[0].millis.map((each, i) => millis[i] / each));
    console.log(
      `${name.padEnd(42)} translate ${show(median(millis))}, ${ratio.toFixed(2)} of ${show(plain)}`,
    );
  }
}

/** Prints a line for the first translation, and one for each kind of change. */
function measure(resources: Resources, changes: typeof CHANGES): void {
  const translator = new Translator();
  const first = cpuMillis(() => translator.translate(resources, null, OPTIONS, Date.now));
  const bytes = serialised(first.value).length;
  console.log(`first translation: ${show(first.millis)}; ${bytes} bytes of JSON`);
  console.log(`resident: ${before} MiB before, ${residentMebibytes()} MiB after`);
  let published = first.value.snapshot;
  let claims = first.value.claims;
  let current = resources;
  for (const [name, change] of Object.entries(changes)) {
    const translating: number[] = [];
    const serialising: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      current = change(current, round);
      const options: TranslateOptions = { ...OPTIONS, claims };
      const translation = cpuMillis(() =>
        translator.translate(current, published, options, Date.now)
      );
      published = translation.value.snapshot;
      // As they come back from the API server.
      claims = translation.value.claims === null ? null : new Map(translation.value.claims);
      translating.push(translation.millis);
      serialising.push(cpuMillis(() => serialised(translation.value)).millis);
    }
    const cells = [show(median(translating)), show(median(serialising))];
    console.log(`${name.padEnd(30)} translate ${cells[0]}, serialise ${cells[1]}`);
  }
  console.log(`resident at the end: ${residentMebibytes()} MiB`);
}

/** Every second Ingress of a namespace gets the host of the one before, and a path of its own. */
function inPairs(ingresses: readonly Ingress[]): Ingress[] {
  const alone = new Map<string, string | null | undefined>();
  return ingresses.map((ingress) => {
    const namespace = ingress.metadata?.namespace ?? "";
    const [rule] = ingress.spec?.rules ?? [];
    if (!alone.has(namespace)) {
      alone.set(namespace, rule.host);
      return ingress;
    }
    const host = alone.get(namespace);
    alone.delete(namespace);
    const other = withPath(ingress, "/second");
    const rules = [{ ...other.spec?.rules?.[0], host }];
    return { ...other, spec: { ...other.spec, rules } };
  });
}

function serialised({ snapshot }: Translation): string {
  return serialiseSnapshot(snapshot, { revealKeys: false });
}

/** CPU of all threads of this process, so that collecting garbage counts. */
function cpuMillis<T>(work: () => T): { readonly value: T; readonly millis: number } {
  const start = process.cpuUsage();
  const value = work();
  const { user, system } = process.cpuUsage(start);
  return { value, millis: (user + system) / 1000 };
}

function residentMebibytes(): number {
  return Math.round(Deno.memoryUsage().rss / 2 ** 20);
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function show(millis: number): string {
  return `${millis.toFixed(1).padStart(6)} ms`;
}
