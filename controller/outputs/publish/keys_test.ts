import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  keySecretName,
  MAX_KEY_SECRETS,
  sha256Of,
} from "../../../shared/snapshot/published_set.ts";
import { Redacted, type Secret } from "../../../shared/redacted.ts";
import { packKeys } from "./keys.ts";
import { DEFAULT_CLUSTER_BOUNDS } from "../../translate/bounds/cluster_sizes.ts";
import type { SecretContent } from "./objects.ts";

/** Texts of so many bytes, one for each number. */
function keysOf(numbers: Iterable<number>, bytes = 1700): Map<string, Secret> {
  const keys = new Map<string, Secret>();
  for (const number of numbers) {
    const text = `${number} `.padEnd(bytes, "x");
    keys.set(sha256Of(text), new Redacted(text));
  }
  return keys;
}

function* range(end: number, begin = 0): Generator<number> {
  for (let i = begin; i < end; i++) yield i;
}

function pack(keys: ReadonlyMap<string, Secret>): readonly SecretContent[] {
  const packed = packKeys(keys);
  assert.ok(packed.ok);
  return packed.secrets;
}

function bytesOf({ data }: SecretContent): number {
  return Object.values(data).reduce((sum, value) => sum + Buffer.byteLength(value, "base64"), 0);
}

/** Names of the Secrets whose data is another one. */
function changed(before: readonly SecretContent[], after: readonly SecretContent[]): string[] {
  const texts = new Map(before.map(({ name, data }) => [name, JSON.stringify(data)]));
  return after.filter(({ name, data }) => texts.get(name) !== JSON.stringify(data))
    .map(({ name }) => name);
}

Deno.test("every key is in one Secret under its hash, and no Secret is too large", () => {
  for (const count of [0, 1, 300, 1000, 5000, 7000]) {
    const keys = keysOf(range(count));
    const secrets = pack(keys);
    const names = secrets.map(({ name }) => name);
    assert.equal(new Set(names).size, names.length);
    const all = Array.from({ length: MAX_KEY_SECRETS }, (_, i) => keySecretName(i));
    assert.ok(names.every((name) => all.includes(name)));
    const found = secrets.flatMap(({ data }) => Object.entries(data));
    assert.deepEqual(found.map(([hash]) => hash).sort(), [...keys.keys()].sort());
    for (const [hash, value] of found) {
      assert.equal(sha256Of(Buffer.from(value, "base64")), hash);
    }
    assert.ok(secrets.every((secret) => bytesOf(secret) <= 960 * 1024), `${count} keys`);
  }
});

Deno.test("a few keys are in the single Secret pingress-keys", () => {
  assert.deepEqual(pack(keysOf(range(300))).map(({ name }) => name), ["pingress-keys"]);
});

Deno.test("the order of keys does not matter", () => {
  const keys = keysOf(range(1000));
  assert.equal(
    JSON.stringify(pack(new Map([...keys].reverse()))),
    JSON.stringify(pack(keys)),
  );
});

Deno.test("one more key changes one Secret, unless that is full", () => {
  let divided = 0;
  let keys = keysOf(range(100), 17_000);
  let before = pack(keys);
  for (const next of range(200, 100)) {
    keys = new Map([...keys, ...keysOf([next], 17_000)]);
    const after = pack(keys);
    const names = changed(before, after);
    assert.ok(names.length >= 1 && names.length <= 2, `${names.length} Secrets change`);
    if (names.length === 2) divided++;
    before = after;
  }
  assert.ok(divided >= 1 && divided <= 6, `${divided} of 100 divided a Secret`);
});

Deno.test("one key fewer changes one Secret, unless two are merged", () => {
  let keys = [...keysOf(range(200), 17_000)];
  let before = pack(new Map(keys));
  let merged = 0;
  for (let i = 0; i < 100; i++) {
    keys = keys.slice(1);
    const after = pack(new Map(keys));
    const names = changed(before, after);
    if (after.length < before.length) merged++;
    assert.equal(names.length, 1);
    before = after;
  }
  assert.ok(merged >= 1 && merged <= 6);
});

Deno.test("more keys than the Secrets can hold are an error with the excess", () => {
  const packed = packKeys(keysOf(range(9500)));
  assert.ok(!packed.ok);
  assert.ok(packed.bytes > packed.limit);
  assert.ok(!packKeys(keysOf([1], 1024 * 1024)).ok, "one key is too large by itself");
});

/** One for each number, whose hashes begin with one digit, as whoever makes them may choose. */
function chosenKeys(count: number, bytes: number, digit: string, first = 0): Map<string, Secret> {
  const keys = new Map<string, Secret>();
  for (let i = first; keys.size < count; i++) {
    const text = `${i} `.padEnd(bytes, "x");
    const hash = sha256Of(text);
    if (hash.startsWith(digit)) keys.set(hash, new Redacted(text));
  }
  return keys;
}

for (
  const { title, count, bytes } of [
    { title: "64 keys of 16 KiB", count: 64, bytes: 16 * 1024 },
    { title: "120 keys of 16 KiB", count: 120, bytes: 16 * 1024 },
    { title: "5 password files of 256 KiB", count: 5, bytes: 256 * 1024 },
    { title: "2,500 keys of 240 bytes", count: 2_500, bytes: 240 },
  ]
) {
  Deno.test(`${title} for one Secret, by their hashes, are spread over others`, () => {
    const chosen = chosenKeys(count, bytes, "0");
    const usual = keysOf(range(400));
    const keys = new Map([...chosen, ...usual]);
    const secrets = pack(keys);
    const found = secrets.flatMap(({ data }) => Object.keys(data));
    assert.deepEqual(found.sort(), [...keys.keys()].sort(), "each once");
    assert.ok(secrets.every((secret) => bytesOf(secret) <= 960 * 1024));
    assert.equal(JSON.stringify(pack(new Map([...keys].reverse()))), JSON.stringify(secrets));
    const { fullness } = packKeys(keys) as { fullness: number };
    assert.ok(fullness < 0.5, `${fullness} of all Secrets`);
  });
}

Deno.test("all that the bounds of the cluster let through fits, whatever the hashes", () => {
  const MIB = 1024 * 1024;
  const passwords = chosenKeys(10, MIB / 4 - 160, "0");
  const keys = DEFAULT_CLUSTER_BOUNDS.keyBytes;
  const renewed = keys + keys / 16 + MIB / 4;
  const bytes = 16 * 1024;
  const chosen = chosenKeys(Math.floor(renewed / (bytes + 160)), bytes, "0");
  pack(new Map([...passwords, ...chosen]));
});

Deno.test("one key more than a Secret holds changes two others at most", () => {
  const keys = [...chosenKeys(80, 16 * 1024, "0")];
  let before = pack(new Map(keys.slice(0, 50)));
  for (let count = 51; count <= keys.length; count++) {
    const after = pack(new Map(keys.slice(0, count)));
    assert.ok(changed(before, after).length <= 2, `${count} keys`);
    before = after;
  }
});

Deno.test("how much is taken of all Secrets is reported", () => {
  const fullness = [1000, 6000, 7000].map((count) => {
    const packed = packKeys(keysOf(range(count)));
    return packed.ok ? packed.fullness : 1;
  });
  assert.ok(fullness[0] > 0 && fullness[0] < 0.15);
  assert.ok(fullness[1] < fullness[2] && fullness[1] > 0.5);
});
