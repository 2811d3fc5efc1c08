/** Certificates that grow where nothing may be added. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Redacted } from "../../../shared/redacted.ts";
import { serialiseSnapshot } from "../../../shared/snapshot/serialise.ts";
import type { Certificate } from "../../../shared/snapshot/types.ts";
import {
  chainOf,
  keyWithAttributes,
  secretWith,
  securedIngress,
} from "../../../tests/support/large_certificates.ts";
import { gateway, ingress, Scene, secure } from "../../../tests/support/shared_address_scene.ts";
import { DEFAULT_CLUSTER_BOUNDS, type Translation } from "../translator.ts";
import { outgrown } from "./held_certificates.ts";

const lineBytes = 180 * 1024;
const clusterBounds = { ...DEFAULT_CLUSTER_BOUNDS, lineBytes };

const LARGE = chainOf({ wildcard: 180 });
const HALF = chainOf({ wildcard: 90 });
const SMALL = chainOf({ wildcard: 1, intermediate: 1 });
const RENEWED = chainOf({ wildcard: 1, intermediate: 2 });

function chainsOf({ snapshot }: Translation, namespace: string): Record<string, string> {
  return Object.fromEntries(
    snapshot.certificates.filter(({ origin }) => origin.namespace === namespace)
      .map(({ origin, chain }) => [origin.name, chain.kind === "pem" ? chain.pem : ""]),
  );
}

function full({ problems }: Translation): readonly string[] {
  return problems.filter(({ reason }) => reason === "ClusterLimitExceeded")
    .map(({ object, severity }) => `${severity} ${object?.kind} ${object?.name}`).sort();
}

function isWithinLine({ snapshot }: Translation): boolean {
  return Buffer.byteLength(serialiseSnapshot(snapshot, { revealKeys: true })) <= lineBytes;
}

const NAMES = Array.from({ length: 20 }, (_, i) => `s${String(i).padStart(2, "0")}`);
const INGRESSES = NAMES.map((name, i) => securedIngress("evil", name, i));

function each<T>(value: T): Record<string, T> {
  return Object.fromEntries(NAMES.map((name) => [name, value]));
}

Deno.test("Secrets of a full namespace that become large leave the published certificates, and others are served", () => {
  const scene = new Scene({ clusterBounds });
  const small = NAMES.map((name) => secretWith("evil", name, SMALL));
  const before = scene.apply({ ingresses: INGRESSES, secrets: small });
  assert.deepEqual(chainsOf(before, "evil"), each(SMALL));
  assert.deepEqual(full(before), []);
  const large = NAMES.map((name) => secretWith("evil", name, LARGE));
  const after = scene.apply({ ingresses: INGRESSES, secrets: large });
  assert.deepEqual(chainsOf(after, "evil"), each(SMALL));
  assert.deepEqual(
    full(after),
    [
      ...NAMES.map((name) => `error Secret ${name}`),
      ...NAMES.map((name) => `warning Ingress ${name}`),
    ],
  );
  const [{ message, remedy }] = after.problems.filter(({ object }) => object?.kind === "Secret")
    .filter(({ reason }) => reason === "ClusterLimitExceeded");
  assert.match(message, /of Secret s00 is larger .* the stream to proxies hold, .* stays in use$/);
  assert.match(remedy, /^Write a smaller certificate, or remove routes or certificates/);
  // Renewed ones, and what others write, are served all the same.
  const [first, ...rest] = NAMES;
  const web = ingress("shop", "web", 30, "web.shop.test");
  const renewed = scene.apply({
    ingresses: [...INGRESSES, web],
    secrets: [secretWith("evil", first, RENEWED), ...large.slice(1)],
  });
  assert.deepEqual(chainsOf(renewed, "evil"), { ...each(SMALL), [first]: RENEWED });
  assert.ok(!full(renewed).includes(`error Secret ${first}`));
  assert.equal(full(renewed).length, 2 * rest.length);
  assert.ok(renewed.snapshot.routes.some(({ host }) => host === "web.shop.test"));
  assert.ok(isWithinLine(renewed));
});

Deno.test("a held certificate is served once there is room", () => {
  const scene = new Scene({ clusterBounds });
  const names = NAMES.slice(0, 2);
  const ingresses = INGRESSES.slice(0, 2);
  const beside = [...ingresses, securedIngress("shop", "web", 0)];
  const ofShop = secretWith("shop", "web", HALF);
  const small = names.map((name) => secretWith("evil", name, SMALL));
  scene.apply({ ingresses: beside, secrets: [...small, ofShop] });
  const grown = [secretWith("evil", names[0], LARGE), secretWith("evil", names[1], HALF)];
  const held = scene.apply({ ingresses: beside, secrets: [...grown, ofShop] });
  assert.deepEqual(chainsOf(held, "evil"), { [names[0]]: SMALL, [names[1]]: SMALL });
  assert.deepEqual(chainsOf(held, "shop"), { web: HALF });
  const alone = scene.apply({ ingresses, secrets: grown });
  assert.deepEqual(chainsOf(alone, "evil"), { [names[0]]: LARGE, [names[1]]: HALF });
  assert.deepEqual(full(alone), []);
});

Deno.test("a listener whose certificate becomes large in a full namespace shows the published one", () => {
  const gateways = [secure(gateway("evil", "web", 0, "*.evil.test"))];
  for (const own of [[], [securedIngress("evil", "cert", 1)]]) {
    const scene = new Scene({ clusterBounds });
    const ingresses = [...own, securedIngress("shop", "web", 0)];
    const ofShop = secretWith("shop", "web", LARGE);
    const applied = (chain: string) =>
      scene.apply({ gateways, ingresses, secrets: [ofShop, secretWith("evil", "cert", chain)] });
    assert.deepEqual(chainsOf(applied(SMALL), "evil"), { cert: SMALL });
    for (let again = 0; again < 2; again++) {
      const held = applied(LARGE);
      assert.deepEqual(chainsOf(held, "evil"), { cert: SMALL });
      assert.deepEqual(chainsOf(held, "shop"), { web: LARGE });
      assert.equal(held.snapshot.certificates.length, 2);
      assert.ok(isWithinLine(held));
      const [listener] = held.gateway!.gateways[0].listeners;
      const resolved = listener.conditions.find(({ type }) => type === "ResolvedRefs")!;
      if (own.length > 0) assert.equal(full(held).length, 2);
      else assert.match(resolved.message, /larger than the published ones, .* the stream .* Write/);
    }
    assert.deepEqual(chainsOf(applied(RENEWED), "evil"), { cert: RENEWED });
  }
});

Deno.test("a held certificate takes no room of Gateways of others", () => {
  const scene = new Scene({ clusterBounds });
  const names = NAMES.slice(0, 2);
  const ingresses = INGRESSES.slice(0, 2);
  scene.apply({ ingresses, secrets: names.map((name) => secretWith("evil", name, SMALL)) });
  const after = scene.apply({
    ingresses,
    gateways: [secure(gateway("shop", "web", 0, "*.shop.test"))],
    secrets: [
      ...names.map((name) => secretWith("evil", name, LARGE)),
      secretWith("shop", "cert", HALF),
    ],
  });
  assert.deepEqual(chainsOf(after, "evil"), { [names[0]]: SMALL, [names[1]]: SMALL });
  assert.deepEqual(chainsOf(after, "shop"), { cert: HALF });
});

Deno.test("long keys do not become long chains, for which there is no room, nor chains keys", () => {
  const [longKeys, longChains] = [
    NAMES.map((name) =>
      secretWith("evil", name, chainOf({ wildcard: 1 }), keyWithAttributes(10_000))
    ),
    NAMES.map((name) => secretWith("evil", name, chainOf({ wildcard: 23 }))),
  ];
  const chains = ({ snapshot }: Translation) =>
    snapshot.certificates.map(({ chain }) => chain.kind === "pem" ? chain.pem.length : 0);
  const keys = ({ snapshot }: Translation) =>
    snapshot.certificates.map(({ key }) => key.kind === "secret" ? key.pem.reveal().length : 0);
  const sum = (sizes: readonly number[]) => sizes.reduce((sum, size) => sum + size, 0);
  for (
    const [limit, first, second, sizesOf] of [
      ["publishedBytes", longKeys, longChains, chains],
      ["keyBytes", longChains, longKeys, keys],
    ] as const
  ) {
    const bounds = { ...DEFAULT_CLUSTER_BOUNDS, [limit]: 100_000 };
    const scene = new Scene({ clusterBounds: bounds });
    const before = scene.apply({ ingresses: INGRESSES, secrets: first });
    assert.equal(sizesOf(before).length, NAMES.length);
    assert.deepEqual(full(before), []);
    for (let again = 0; again < 2; again++) {
      const held = scene.apply({ ingresses: INGRESSES, secrets: second });
      assert.equal(sizesOf(held).length, NAMES.length);
      assert.ok(sum(sizesOf(held)) <= 32 * 1024, `${limit}: ${sum(sizesOf(held))}`);
      assert.ok(full(held).length > 0);
    }
  }
});

function certificate(name: string, version: number, bytes: number): Certificate {
  return {
    ...{ id: `${name}-${version}`, hosts: [] },
    chain: { kind: "pem", pem: "x".repeat(bytes - 1) },
    key: { kind: "secret", pem: new Redacted("x") },
    origin: { kind: "Secret", namespace: "shop", name, field: "data" },
  };
}

Deno.test("certificates that are renewed again and again grow to the next 32 KiB and no further", () => {
  let published = ["a", "b", "c"].map((name) => certificate(name, 0, 5_000));
  const bytes = () =>
    published.reduce(
      (sum, { chain }) => sum + (chain.kind === "pem" ? chain.pem.length + 1 : 0),
      0,
    );
  for (let version = 1; version < 200; version++) {
    const now = published.map(({ origin, chain }) =>
      certificate(origin.name, version, (chain.kind === "pem" ? chain.pem.length + 1 : 0) + 101)
    );
    const held = outgrown(published, now, 1);
    published = now.map((each, i) => held.has(`shop/${each.origin.name}`) ? published[i] : each);
  }
  assert.ok(bytes() <= 32_768 && bytes() > 32_768 - 101, String(bytes()));
});

/** In a cluster whose namespaces may add nothing, whatever they renew, however often, in any order. */
for (const [namespaces, each] of [[1, 1], [8, 20], [100, 3], [2_000, 1]]) {
  Deno.test(`certificates of ${namespaces} namespaces with ${each} each grow by a sixteenth and 256 KiB at most`, () => {
    const sizeOf = ({ chain }: Certificate) => chain.kind === "pem" ? chain.pem.length + 1 : 0;
    const total = (all: readonly (readonly Certificate[])[]) =>
      all.flat().reduce((sum, one) => sum + sizeOf(one), 0);
    let all = Array.from(
      { length: namespaces },
      (_, i) =>
        Array.from({ length: each }, (_, j) => certificate(`s${j}`, 0, 700 + (i * 977) % 9_000)),
    );
    const most = total(all) * 17 / 16 + 256 * 1024;
    for (let version = 1; version <= 12; version++) {
      // Namespaces that are deleted meanwhile leave the others no more.
      all = all.slice(0, Math.max(1, Math.floor(all.length * 0.9)));
      all = all.map((published, i) => {
        const growth = [1, 20, 300, 5_000, 90_000][(i + version) % 5];
        const now = published.map((one) =>
          certificate(one.origin.name, version, sizeOf(one) + growth)
        );
        const held = outgrown(published, now, all.length);
        return now.map((one, j) => held.has(`shop/${one.origin.name}`) ? published[j] : one);
      });
      assert.ok(total(all) <= most, `${total(all)} > ${most}`);
    }
    const renewed = all.map((own) =>
      own.map((one) => certificate(one.origin.name, 99, sizeOf(one)))
    );
    for (const [i, own] of all.entries()) {
      assert.equal(outgrown(own, renewed[i], all.length).size, 0, "equal sizes are always renewed");
    }
  });
}

Deno.test("a certificate has the room that another one leaves, and small ones come before large ones", () => {
  const published = [
    certificate("a", 0, 20_000),
    certificate("b", 0, 10_000),
    certificate("c", 0, 2_768),
  ];
  const heldOf = (a: number, b: number, c: number) => [
    ...outgrown(published, [
      certificate("a", 1, a),
      certificate("b", 1, b),
      certificate("c", 1, c),
    ], 1).keys(),
  ];
  assert.deepEqual(heldOf(20_000, 10_000, 2_768), []);
  assert.deepEqual(heldOf(20_000, 10_000, 2_769), ["shop/c"]);
  assert.deepEqual(heldOf(20_000, 9_999, 2_769), []);
  assert.deepEqual(heldOf(25_000, 9_000, 3_000), ["shop/a"]);
  assert.deepEqual(
    [...outgrown(published, published, 1).keys()],
    [],
    "what is published has its room",
  );
  assert.deepEqual([...outgrown([], published, 1).keys()], [], "what is new has another bound");
});
