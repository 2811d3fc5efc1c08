import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { sha256Of } from "../../../shared/snapshot/published_set.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { largeSnapshot } from "../../../tests/support/published_scene.ts";
import type { LiveConfigMap, LiveSecret } from "./objects.ts";
import { type LiveSet, planPublish } from "./plan.ts";
import { readPublishedSet } from "./published.ts";
import { Retention } from "./retention.ts";

/** Several parts of a kind that need not be large. */
const LARGE = largeSnapshot({ routes: 100, certificates: 800 });
const SMALL = largeSnapshot({ routes: 3, certificates: 2 });
const NOTHING: LiveSet = { configMaps: [], secrets: [] };

class Desk {
  now = 0;
  live: LiveSet = NOTHING;
  readonly #retention = new Retention(100, () => this.now);

  plan(snapshot: Snapshot) {
    const { configMaps, secrets } = this.live;
    const published = readPublishedSet(configMaps, secrets);
    const plan = planPublish(snapshot, published, this.live, this.#retention);
    assert.ok(plan.ok);
    return plan;
  }

  /** Plans, and does all of it. Out: the names of all that stands there then. */
  do(snapshot: Snapshot): string[] {
    const plan = this.plan(snapshot);
    const configMaps = new Map(this.live.configMaps.map((one) => [one.metadata!.name!, one]));
    const secrets = new Map(this.live.secrets.map((one) => [one.metadata!.name!, one]));
    for (const { name, ...content } of plan.configMaps) {
      configMaps.set(name, { metadata: { name }, ...content });
    }
    for (const { name, data } of plan.secrets) secrets.set(name, { metadata: { name }, data });
    for (const name of plan.superfluous.configMaps) configMaps.delete(name);
    for (const name of plan.superfluous.secrets) secrets.delete(name);
    this.live = { configMaps: [...configMaps.values()], secrets: [...secrets.values()] };
    return [...configMaps.keys(), ...secrets.keys()].sort();
  }
}

function dataOf(live: LiveSet, name: string): string[] {
  const all: (LiveConfigMap | LiveSecret)[] = [...live.configMaps, ...live.secrets];
  return Object.keys(all.find(({ metadata }) => metadata?.name === name)?.data ?? {}).sort();
}

Deno.test("parts go into unused objects first, then into those superseded longest ago", () => {
  const desk = new Desk();
  const turns: string[] = [];
  for (let turn = 0; turn < 6; turn++) {
    desk.now++;
    desk.do({ ...LARGE, routes: LARGE.routes.slice(turn) });
    const index = desk.live.configMaps.find(({ metadata }) =>
      metadata!.name === "pingress-config-v2"
    );
    const { parts } = JSON.parse(index!.data!["proxy-v2.json"]).set;
    turns.push(parts.map(({ path }: { path: string }) => path.match(/\d+(?=\.)/)![0]).join());
  }
  assert.deepEqual(turns, ["1,2", "3,4", "5,6", "7,1", "2,3", "4,5"]);
});

Deno.test("a superseded part is removed after its retention time, unless it is used again", () => {
  const desk = new Desk();
  desk.do(LARGE);
  const large = desk.do(SMALL);
  assert.equal(large.length, 7);
  desk.now = 99;
  assert.deepEqual(desk.do(SMALL), large);
  desk.now = 100;
  assert.deepEqual(desk.do(SMALL), ["pingress-config-v2", "pingress-keys"]);
  assert.equal(dataOf(desk.live, "pingress-keys").length, 2);
});

Deno.test("a key that moves to another Secret is in both for a while", () => {
  const desk = new Desk();
  const few = { ...LARGE, certificates: LARGE.certificates.slice(0, 300) };
  desk.do(few);
  assert.equal(dataOf(desk.live, "pingress-keys").length, 300);
  desk.do({ ...LARGE, certificates: LARGE.certificates.slice(0, 500) });
  assert.equal(
    dataOf(desk.live, "pingress-keys").filter((hash) =>
      dataOf(desk.live, "pingress-keys-1").includes(hash)
    ).length > 100,
    true,
  );
  desk.now = 100;
  desk.do({ ...LARGE, certificates: LARGE.certificates.slice(0, 500) });
  const [first, second] = ["pingress-keys", "pingress-keys-1"]
    .map((name) => dataOf(desk.live, name));
  assert.equal(first.length + second.length, 500);
  assert.equal(new Set([...first, ...second]).size, 500);
});

Deno.test("superseded keys that would make a Secret too large are removed at once", () => {
  const desk = new Desk();
  const of = (begin: number) => ({
    ...LARGE,
    certificates: LARGE.certificates.slice(begin, begin + 350),
  });
  desk.do(of(0));
  desk.do(of(400));
  assert.equal(dataOf(desk.live, "pingress-keys").length, 350);
});

Deno.test("data that others added to a Secret is not a key, and is removed", () => {
  const desk = new Desk();
  desk.do(SMALL);
  const [keys] = desk.live.secrets;
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const foreign = {
    note: encoded("x"),
    ["0".repeat(64)]: encoded("not what its name says"),
    [sha256Of("a key of before")]: encoded("a key of before"),
  };
  desk.live = { ...desk.live, secrets: [{ ...keys, data: { ...keys.data, ...foreign } }] };
  desk.do(SMALL);
  const names = dataOf(desk.live, "pingress-keys");
  assert.deepEqual(names.filter((name) => name in foreign), [sha256Of("a key of before")]);
  desk.now = 100;
  desk.do(SMALL);
  assert.equal(dataOf(desk.live, "pingress-keys").length, 2);
});

Deno.test("a published snapshot is not rewritten for a new version only", () => {
  const desk = new Desk();
  for (const snapshot of [SMALL, LARGE]) {
    desk.do(snapshot);
    const before = JSON.stringify(desk.live.configMaps);
    const plan = desk.plan({ ...snapshot, version: { epoch: "x", seen: {} } });
    assert.equal(plan.text, undefined);
    assert.deepEqual(
      plan.configMaps.map(({ name }) => name),
      readPublishedSet(desk.live.configMaps, desk.live.secrets).slots.reduce(
        (names, slot) => [...names, `pingress-config-v2-${slot}`],
        ["pingress-config-v2"],
      ),
    );
    desk.do(snapshot);
    assert.equal(JSON.stringify(desk.live.configMaps), before);
  }
});
