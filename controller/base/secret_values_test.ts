import assert from "node:assert/strict";
import {
  MAX_AUTHORITY_BYTES,
  MAX_CHAIN_BYTES,
  MAX_KEY_BYTES,
} from "../translate/certificates/pair_limits.ts";
import { keptValues, MAX_PASSWORD_BYTES, REVOKED_BYTES, VALUE_BYTES } from "./secret_values.ts";

const TLS = "kubernetes.io/tls";
const MIB = 1 << 20;

const text = (bytes: number) => btoa("x".repeat(bytes));

interface Case {
  readonly title: string;
  readonly type?: string;
  /** Bytes of each value. */
  readonly given: Readonly<Record<string, number>>;
  /** Names of the values that are left. */
  readonly kept: readonly string[];
  readonly oversize?: Readonly<Record<string, number>>;
}

const CASES: readonly Case[] = [
  {
    title: "a certificate with its key and authority is kept",
    type: TLS,
    given: { "tls.crt": 5_000, "tls.key": 1_700, "ca.crt": 2_000 },
    kept: ["ca.crt", "tls.crt", "tls.key"],
  },
  {
    title: "values of a TLS Secret that nobody reads are not kept",
    type: TLS,
    given: { "tls.crt": 5_000, "tls.key": 1_700, junk: MIB, auth: 10, keystore: 10 },
    kept: ["tls.crt", "tls.key"],
  },
  {
    title: "values as large as they may be are kept",
    type: TLS,
    given: VALUE_BYTES,
    kept: ["ca.crt", "tls.crt", "tls.key"],
  },
  ...Object.entries(VALUE_BYTES).map(([name, limit]): Case => ({
    title: `${name} with a byte more than it may have is not kept`,
    type: TLS,
    given: { "tls.crt": 1, [name]: limit + 1 },
    kept: name === "tls.crt" ? [] : ["tls.crt"],
    oversize: { [name]: limit },
  })),
  {
    title: "users of an Opaque Secret are kept",
    type: "Opaque",
    given: { alice: 60, bob: 60 },
    kept: ["alice", "bob"],
  },
  {
    title: "users of a Secret without a type are kept",
    given: { auth: 60 },
    kept: ["auth"],
  },
  {
    title: "a password file that is too large is not kept",
    type: "Opaque",
    given: { auth: MAX_PASSWORD_BYTES + 1, alice: 60 },
    kept: ["alice"],
    oversize: { auth: MAX_PASSWORD_BYTES },
  },
  {
    title: "values without a name of their own are kept together or not at all",
    type: "Opaque",
    given: { "tls.crt": 5_000, alice: 60, junk: MAX_PASSWORD_BYTES },
    kept: ["tls.crt"],
    oversize: { "": MAX_PASSWORD_BYTES },
  },
];

for (const { title, type, given, kept, oversize } of CASES) {
  Deno.test(title, () => {
    const data = Object.fromEntries(
      Object.entries(given).map(([name, bytes]) => [name, text(bytes)]),
    );
    const values = keptValues(type, data);
    const found = values.data as Record<string, string>;
    assert.deepEqual(Object.keys(found).sort(), kept);
    for (const name of kept) assert.equal(found[name], data[name]);
    assert.deepEqual(values.oversize, oversize);
  });
}

Deno.test("a Secret of 1 MiB whose values nobody can use takes less than 1 KiB", () => {
  for (const name of ["junk", "auth", "tls.crt", "tls.key", "ca.crt"]) {
    for (const type of [TLS, "Opaque"]) {
      assert.ok(
        JSON.stringify(keptValues(type, { [name]: text(MIB) })).length < 1024,
        `${name} of type ${type}`,
      );
    }
  }
});

Deno.test("of a long list of revoked certificates, the beginning of the first block is kept", () => {
  const list = `text around it\n-----BEGIN X509 CRL-----\n${"A".repeat(MIB / 2)}\n`;
  const { data, oversize } = keptValues("Opaque", { "ca.crl": btoa(list) });
  const kept = atob((data as Record<string, string>)["ca.crl"]);
  assert.equal(kept, list.slice(15, 15 + REVOKED_BYTES));
  assert.equal(oversize, undefined);
});

Deno.test("values may have twice what the limits of certificates allow their PEM", () => {
  assert.deepEqual(VALUE_BYTES, {
    "tls.crt": 2 * MAX_CHAIN_BYTES,
    "tls.key": 2 * MAX_KEY_BYTES,
    "ca.crt": 2 * MAX_AUTHORITY_BYTES,
  });
});

Deno.test("data of any other shape breaks nothing", () => {
  for (const data of [undefined, null, 5, "text", [1], { "tls.crt": 5, "ca.crl": {}, x: null }]) {
    keptValues(undefined, data);
  }
});
