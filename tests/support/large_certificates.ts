/**
 * Certificates of many sizes. In: how often files of `tests/golden/certificates` stand in a chain. Out: chains, Secrets
 * with them, and Ingresses that name these.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, createPrivateKey } from "node:crypto";
import type { KubeSecret } from "../../controller/kube/resources.ts";
import { ingress } from "./shared_address_scene.ts";

function file(name: string): string {
  return Deno.readTextFileSync(new URL(`../golden/certificates/${name}`, import.meta.url));
}

/** By name, without ending; the server's certificate first. */
export function chainOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).map(([name, count]) => file(`${name}.crt`).repeat(count)).join("");
}

/** @param chain Of which the first is `wildcard`. */
export function secretWith(
  namespace: string,
  name: string,
  chain: string,
  key = file("wildcard.key"),
): KubeSecret {
  return {
    metadata: { namespace, name },
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa(chain), "tls.key": btoa(key) },
  } as unknown as KubeSecret;
}

/** With a host of its own, and the certificate of the Secret of the same name. */
export function securedIngress(namespace: string, name: string, age: number) {
  const made = ingress(namespace, name, age, `${name}.${namespace}.test`);
  const tls = [{ hosts: [`${name}.${namespace}.test`], secretName: name }];
  return { ...made, spec: { ...made.spec, tls } };
}

/**
 * Certificates that differ from all others in their signatures, which nobody verifies, and not in their size.
 *
 * @param seed Of all of them.
 */
export function distinctChain(seed: string, count: number, name = "intermediate"): string {
  const [begin, end] = ["-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n"];
  const body = file(`${name}.crt`).slice(begin.length, -end.length).replaceAll("\n", "");
  const der = Buffer.from(body, "base64");
  return Array.from({ length: count }, (_, i) => {
    const signature = createHash("sha256").update(`${seed} ${i}`).digest().subarray(0, SIGNATURE);
    const other = Buffer.concat([der.subarray(0, -SIGNATURE), signature]);
    return `${begin}${wrapped(other)}\n${end}`;
  }).join("");
}

/** Bytes at the end of a signature by ECDSA P-256, whatever the length of its numbers. */
const SIGNATURE = 24;

function wrapped(der: Uint8Array): string {
  return Buffer.from(der).toString("base64").replace(/.{64}(?=.)/g, "$&\n");
}

/** The key of `wildcard` with attributes of so many bytes beside it (RFC 5958 §2). */
export function keyWithAttributes(bytes: number): string {
  const der = createPrivateKey(file("wildcard.key")).export({ type: "pkcs8", format: "der" });
  const value = tlv(
    0x30,
    Buffer.concat([ATTRIBUTE_TYPE, tlv(0x31, tlv(0x04, Buffer.alloc(bytes)))]),
  );
  const [, length] = der;
  const content = der.subarray(length < 128 ? 2 : 2 + (length & 127));
  const key = tlv(0x30, Buffer.concat([content, tlv(0xa0, value)]));
  return `-----BEGIN PRIVATE KEY-----\n${wrapped(key)}\n-----END PRIVATE KEY-----\n`;
}

/**
 * PEM with exactly so many characters: without as many line ends as it has more.
 *
 * @param pem With some more of them.
 */
export function pemOfLength(pem: string, length: number): string {
  let more = pem.length - length;
  const result = pem.replace(
    /(?<=[A-Za-z0-9+/]{64})\n(?=[A-Za-z0-9+/])/g,
    (end) => more-- > 0 ? "" : end,
  );
  assert.equal(result.length, length);
  return result;
}

/** The object identifier 1.2.3.4. */
const ATTRIBUTE_TYPE = Buffer.from("06032a0304", "hex");

/** DER of a tag, its length and its value of less than 64 KiB. */
function tlv(tag: number, value: Uint8Array): Uint8Array {
  const { length } = value;
  const size = length < 128
    ? [length]
    : length < 256
    ? [0x81, length]
    : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}
