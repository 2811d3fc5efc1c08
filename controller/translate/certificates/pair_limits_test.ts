/** How large certificates may be. */
import assert from "node:assert/strict";
import { Redacted } from "../../../shared/redacted.ts";
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import {
  chainOf,
  keyWithAttributes,
  pemOfLength,
  secretWith,
  securedIngress,
} from "../../../tests/support/large_certificates.ts";
import { gateway, Scene, secure } from "../../../tests/support/shared_address_scene.ts";
import type { KubeSecret, Resources } from "../../kube/resources.ts";
import { UPSTREAM_TLS } from "../annotations/own_annotation_names.ts";
import type { Translation } from "../translator.ts";
import { readSecret } from "./certificate_source.ts";
import {
  authorityExcess,
  MAX_AUTHORITY_BYTES,
  MAX_CHAIN_BYTES,
  MAX_KEY_BYTES,
  pairExcess,
} from "./pair_limits.ts";

const text = (bytes: number) => ({ kind: "pem" as const, pem: "x".repeat(bytes) });
const key = (bytes: number) => ({
  kind: "secret" as const,
  pem: new Redacted("x".repeat(bytes)),
});

Deno.test("chains, keys and authorities may have as many bytes as their limit, and not one more", () => {
  const most = { chain: text(MAX_CHAIN_BYTES), key: key(MAX_KEY_BYTES) };
  assert.equal(pairExcess(most), null);
  const ofChain = pairExcess({ ...most, chain: text(MAX_CHAIN_BYTES + 1) })!;
  assert.equal(ofChain.part, "chain");
  assert.match(ofChain.fault, /tls\.crt has 102401 bytes, more than 102400$/);
  const ofKey = pairExcess({ ...most, key: key(MAX_KEY_BYTES + 1) })!;
  assert.equal(ofKey.part, "key");
  assert.match(ofKey.fault, /key has 16385 bytes, more than 16384$/);
  assert.equal(authorityExcess(text(MAX_AUTHORITY_BYTES)), null);
  assert.match(authorityExcess(text(MAX_AUTHORITY_BYTES + 1))!, /262145 bytes, more than 262144$/);
});

/** Of exactly the limit, and one byte more. */
const LONGEST = chainOf({ wildcard: 118, intermediate: 61, ed25519: 1 });
const TOO_LONG = chainOf({ wildcard: 84, intermediate: 93, two: 1 });
const USUAL = chainOf({ wildcard: 1, intermediate: 1 });

const WEB = [securedIngress("shop", "web", 0)];

function secrets(chain: string): readonly KubeSecret[] {
  return [secretWith("shop", "web", chain)];
}

function chains({ snapshot }: Translation): readonly string[] {
  return snapshot.certificates.map(({ chain }) => chain.kind === "pem" ? chain.pem : chain.kind);
}

function problemsOf({ problems }: Translation, kind: string): readonly string[] {
  return problems.filter(({ object }) => object?.kind === kind)
    .filter(({ reason }) => reason !== "CertificateHostMismatch")
    .filter(({ reason }) => !["CertificateChainBroken", "CertificateNotYetValid"].includes(reason))
    .map(({ reason, severity }) => `${severity} ${reason}`);
}

Deno.test("a chain of the most bytes is served, and one byte more is not", () => {
  assert.equal(LONGEST.length, MAX_CHAIN_BYTES);
  assert.equal(TOO_LONG.length, MAX_CHAIN_BYTES + 1);
  const served = new Scene().apply({ ingresses: WEB, secrets: secrets(LONGEST) });
  assert.deepEqual(chains(served), [LONGEST]);
  assert.deepEqual(problemsOf(served, "Secret"), []);
  const refused = new Scene().apply({ ingresses: WEB, secrets: secrets(TOO_LONG) });
  assert.deepEqual(chains(refused), []);
  assert.deepEqual(problemsOf(refused, "Secret"), ["error SecretInvalid"]);
  assert.deepEqual(problemsOf(refused, "Ingress"), ["error SecretInvalid"]);
  for (
    const { message, remedy } of refused.problems.filter((one) => one.reason === "SecretInvalid")
  ) {
    assert.match(message, /tls\.crt has 102401 bytes, more than 102400/);
    assert.match(remedy, /^Remove certificates that clients do not need from tls\.crt/);
  }
});

Deno.test("a chain that grows past the limit leaves the published one in use until it is shorter", () => {
  const scene = new Scene();
  scene.apply({ ingresses: WEB, secrets: secrets(USUAL) });
  for (let again = 0; again < 2; again++) {
    const kept = scene.apply({ ingresses: WEB, secrets: secrets(TOO_LONG) });
    assert.deepEqual(chains(kept), [USUAL]);
    assert.match(
      kept.problems.find(({ object, reason }) =>
        object?.kind === "Ingress" && reason === "SecretInvalid"
      )!.message,
      /published before stays in use for web\.shop\.test$/,
    );
  }
  assert.deepEqual(chains(scene.apply({ ingresses: WEB, secrets: secrets(LONGEST) })), [LONGEST]);
});

Deno.test("a chain over the limit that is published stays in use, with a warning, until it is replaced", () => {
  const scene = new Scene();
  const { snapshot } = scene.apply({ ingresses: WEB, secrets: secrets(USUAL) });
  // As published by a version without the limit.
  const { id, chain, key } = readSecret(secrets(TOO_LONG)[0])!.shown!;
  const certificates = snapshot.certificates.map((each) => ({ ...each, id, chain, key }));
  scene.published = { ...snapshot, certificates };
  for (let again = 0; again < 2; again++) {
    const kept = scene.apply({ ingresses: WEB, secrets: secrets(TOO_LONG) });
    assert.deepEqual(chains(kept), [TOO_LONG]);
    assert.deepEqual(problemsOf(kept, "Secret"), ["warning CertificateTooLarge"]);
  }
  const other = secrets(TOO_LONG + USUAL);
  assert.deepEqual(chains(scene.apply({ ingresses: WEB, secrets: other })), [TOO_LONG]);
  scene.apply({ ingresses: WEB, secrets: secrets(USUAL) });
  assert.deepEqual(chains(scene.apply({ ingresses: WEB, secrets: secrets(TOO_LONG) })), [USUAL]);
});

/** Intermediates in an authority within the limit, and over it. */
const [FEW, MANY] = [440, 450];

function backend(authorities: number, chain: string): Partial<Resources> {
  return {
    ingresses: WEB,
    services: [{
      metadata: {
        ...{ name: "web", namespace: "shop" },
        annotations: { [UPSTREAM_TLS.ca]: "ca", [UPSTREAM_TLS.clientCertificate]: "web" },
      },
      spec: { ports: [{ port: 80, appProtocol: "https" }] },
    }],
    secrets: [
      ...secrets(chain),
      {
        metadata: { namespace: "shop", name: "ca" },
        data: { "ca.crt": btoa(chainOf({ intermediate: authorities })) },
      } as unknown as KubeSecret,
    ],
  };
}

function shownTo({ upstreams, certificates }: Snapshot): readonly [ca: number, chain: number] {
  const { ca, clientCertificate } = upstreams[0].tls ?? {};
  const shown = certificates.find(({ id }) => id === clientCertificate)?.chain;
  return [ca?.pem.length ?? 0, shown?.kind === "pem" ? shown.pem.length : 0];
}

Deno.test("a CA or chain that is too large leaves the published one of a backend in use, or closes the backend", () => {
  const scene = new Scene();
  const before = shownTo(scene.apply(backend(FEW, LONGEST)).snapshot);
  assert.deepEqual(before, [chainOf({ intermediate: FEW }).length, MAX_CHAIN_BYTES]);
  const after = scene.apply(backend(MANY, TOO_LONG));
  assert.deepEqual(shownTo(after.snapshot), before);
  assert.deepEqual(problemsOf(after, "Service"), [
    "error UpstreamCaInvalid",
    "error ClientCertificateInvalid",
  ]);
  const anew = new Scene().apply(backend(MANY, USUAL));
  assert.deepEqual(anew.snapshot.upstreams, []);
  assert.deepEqual(problemsOf(anew, "Service"), ["error UpstreamCaInvalid"]);
});

const CHAIN = chainOf({ wildcard: 184 });
const KEY = keyWithAttributes(12_000);
const AUTHORITIES = chainOf({ intermediate: 446 });

/** Secret `web` of namespace `shop`. */
interface Sizes {
  readonly chain?: number;
  readonly key?: number;
  readonly ca?: number;
}

function secretOf({ chain, key, ca }: Sizes): KubeSecret {
  const { data, ...secret } = secretWith(
    "shop",
    "web",
    chain === undefined ? USUAL : pemOfLength(CHAIN, chain),
    key === undefined ? undefined : pemOfLength(KEY, key),
  );
  const authorities = ca === undefined ? {} : { "ca.crt": btoa(pemOfLength(AUTHORITIES, ca)) };
  return { ...secret, data: { ...data, ...authorities } } as KubeSecret;
}

function secured(annotations: Readonly<Record<string, string>>) {
  return [{
    metadata: { name: "web", namespace: "shop", annotations },
    spec: { ports: [{ port: 80, appProtocol: "https" }] },
  }];
}

const BY_PROXY_SSL_SECRET = WEB.map(({ metadata, spec: { tls: _, ...spec } }) => ({
  metadata: {
    ...metadata,
    annotations: {
      "nginx.ingress.kubernetes.io/backend-protocol": "HTTPS",
      "nginx.ingress.kubernetes.io/proxy-ssl-secret": "shop/web",
      "nginx.ingress.kubernetes.io/proxy-ssl-verify": "on",
    },
  },
  spec,
}));

/** Who names the Secret, and whether it is used. */
const NAMED: Readonly<
  Record<string, readonly [Partial<Resources>, (snapshot: Snapshot) => boolean]>
> = {
  "an Ingress": [{ ingresses: WEB }, ({ certificates }) => certificates.length === 1],
  "a listener": [{
    gateways: [secure(gateway("shop", "web", 0, "*.shop.test"))].map((made) => ({
      ...made,
      spec: {
        ...made.spec,
        listeners: made.spec.listeners.map((each) => ({
          ...each,
          tls: { certificateRefs: [{ name: "web" }] },
        })),
      },
    })),
  }, ({ certificates }) => certificates.length === 1],
  "a Service, as its client certificate": [{
    ingresses: WEB.map(({ metadata, spec: { tls: _, ...spec } }) => ({ metadata, spec })),
    services: secured({ [UPSTREAM_TLS.clientCertificate]: "web" }),
  }, ({ upstreams }) => upstreams[0]?.tls?.clientCertificate !== undefined],
  "a Service, as its CA": [{
    ingresses: WEB.map(({ metadata, spec: { tls: _, ...spec } }) => ({ metadata, spec })),
    services: secured({ [UPSTREAM_TLS.ca]: "web" }),
  }, ({ upstreams }) => upstreams[0]?.tls?.ca !== undefined],
  "proxy-ssl-secret": [
    { ingresses: BY_PROXY_SSL_SECRET },
    ({ upstreams }) => upstreams[0]?.tls?.clientCertificate !== undefined,
  ],
};

const PAIR = ["chain", "key"] as const;

for (
  const [by, parts] of [
    ["an Ingress", PAIR],
    ["a listener", PAIR],
    ["a Service, as its client certificate", PAIR],
    ["a Service, as its CA", ["ca"]],
    ["proxy-ssl-secret", [...PAIR, "ca"]],
  ] as const
) {
  for (const part of parts) {
    const most = { chain: MAX_CHAIN_BYTES, key: MAX_KEY_BYTES, ca: MAX_AUTHORITY_BYTES }[part];
    Deno.test(`a ${part} of ${most} bytes is used that ${by} names, and not of one more`, () => {
      const [resources, isUsed] = NAMED[by];
      const used = (bytes: number) => {
        const scene = new Scene({ nginxClasses: ["pingress"] });
        return isUsed(
          scene.apply({ ...resources, secrets: [secretOf({ [part]: bytes })] }).snapshot,
        );
      };
      assert.deepEqual([most - 1, most, most + 1].map(used), [true, true, false]);
    });
  }
}
