import assert from "node:assert/strict";
import type { Ingress, IngressClass, Service } from "../kube/resources.ts";
import type { ReferenceDemand } from "./reference_ledger.ts";
import { type ReferenceOptions, SecretReferences } from "./secret_references.ts";
import { ObjectReaders } from "../translate/memory.ts";

const OPTIONS: ReferenceOptions = {
  ingressClasses: ["pingress"],
  controllerNames: ["pingress.io/ingress-controller"],
  watchIngressWithoutClass: false,
  defaultBackend: null,
  defaultCertificate: null,
};

function ingress(namespace: string, spec: Record<string, unknown>, className = "pingress") {
  return {
    metadata: { namespace, name: "web" },
    spec: { ingressClassName: className, ...spec },
  } as Ingress;
}

function service(namespace: string, name: string, annotations: Record<string, string>): Service {
  return { metadata: { namespace, name, annotations } };
}

function rules(...names: string[]) {
  return {
    rules: names.map((name) => ({
      host: `${name}.example.com`,
      http: { paths: [{ path: "/", backend: { service: { name, port: { number: 80 } } } }] },
    })),
  };
}

function named(
  given: { ingresses?: Ingress[]; ingressClasses?: IngressClass[]; services?: Service[] },
  options: Partial<ReferenceOptions> = {},
): string[] {
  const resources = { ingresses: [], ingressClasses: [], services: [], ...given };
  const readers = new ObjectReaders();
  return keysOf(new SecretReferences(readers, { ...OPTIONS, ...options }).of(resources));
}

function keysOf({ uses, global }: ReferenceDemand): string[] {
  const named = uses.flatMap((
    { certificates, listeners, others },
  ) => [...certificates, ...listeners, ...others]);
  return [...new Set([...named, ...global])].sort();
}

const CA = { "pingress.io/upstream-tls-ca": "authority" };

Deno.test("Secrets referenced by an Ingress's TLS entries are read, in its namespace", () => {
  const tls = [{ secretName: "a" }, { secretName: "b", hosts: ["x"] }, { secretName: "a" }];
  assert.deepEqual(named({ ingresses: [ingress("shop", { tls })] }), ["shop/a", "shop/b"]);
});

for (
  const [secret, verify, expected] of [
    ["shop/ca", "off", ["shop/ca"]],
    ["other/ca", "off", []],
    ["shop/ca", "on", []],
  ] as const
) {
  Deno.test(
    `Secret ${secret} of client certificates that are ${verify} is ${
      expected.length === 0 ? "not " : ""
    }read`,
    () => {
      const { metadata, ...more } = ingress("shop", rules("web"));
      const annotations = {
        "nginx.ingress.kubernetes.io/auth-tls-secret": secret,
        "nginx.ingress.kubernetes.io/auth-tls-verify-client": verify,
      };
      const ingresses = [{ ...more, metadata: { ...metadata, annotations } }];
      assert.deepEqual(named({ ingresses }), expected);
    },
  );
}

Deno.test("Secrets referenced by Ingresses of another class are not read", () => {
  const tls = [{ secretName: "a" }];
  assert.deepEqual(named({ ingresses: [ingress("shop", { tls }, "nginx")] }), []);
});

Deno.test("an IngressClass that becomes ours makes its Secrets referenced", () => {
  const ingresses = [ingress("shop", { tls: [{ secretName: "a" }] }, "edge")];
  const ours = { metadata: { name: "edge" }, spec: { controller: OPTIONS.controllerNames[0] } };
  assert.deepEqual(named({ ingresses }), []);
  assert.deepEqual(named({ ingresses, ingressClasses: [ours] }), ["shop/a"]);
});

Deno.test("names that no Secret can have are ignored", () => {
  const tls = [{ secretName: "../x" }, { secretName: "" }, {}, { secretName: 5 }, null, "text"];
  assert.deepEqual(named({ ingresses: [ingress("shop", { tls })] }), []);
  assert.deepEqual(named({ ingresses: [ingress("shop", { tls: "text" })] }), []);
});

Deno.test("a Service references Secrets if one of our Ingresses has it as a backend", () => {
  const both = { ...CA, "pingress.io/upstream-tls-client-certificate": "client" };
  const services = [
    service("shop", "cart", both),
    service("shop", "other", CA),
    service("bank", "cart", CA),
  ];
  const ingresses = [ingress("shop", rules("cart"))];
  assert.deepEqual(named({ ingresses, services }), ["shop/authority", "shop/client"]);
  const foreign = [ingress("shop", rules("cart"), "nginx")];
  assert.deepEqual(named({ ingresses: foreign, services }), []);
});

Deno.test("a Service behind defaultBackend or the controller's default backend references Secrets", () => {
  const services = [service("shop", "fallback", CA), service("ops", "404", CA)];
  const ingresses = [ingress("shop", { defaultBackend: { service: { name: "fallback" } } })];
  assert.deepEqual(named({ ingresses, services }), ["shop/authority"]);
  const defaultBackend = { namespace: "ops", name: "404", port: 80 };
  assert.deepEqual(named({ ingresses, services }, { defaultBackend }), [
    "ops/authority",
    "shop/authority",
  ]);
});

Deno.test("the default certificate's Secret is referenced without any Ingress", () => {
  const defaultCertificate = { namespace: "ops", name: "wildcard-tls" };
  assert.deepEqual(named({}, { defaultCertificate }), ["ops/wildcard-tls"]);
});

Deno.test("Secrets of HTTPS listeners are read for Gateways of ours, those of other namespaces by a grant", () => {
  const listener = (names: readonly (string | object)[]) => ({
    name: "https",
    port: 443,
    protocol: "HTTPS",
    tls: { certificateRefs: names.map((name) => typeof name === "string" ? { name } : name) },
  });
  const gateway = (name: string, gatewayClassName: string, ...certificates: object[]) => ({
    metadata: { name, namespace: "infra" },
    spec: {
      gatewayClassName,
      listeners: certificates.length === 0 ? [listener([name])] : certificates,
    },
  });
  const grant = {
    metadata: { name: "grant", namespace: "certificates" },
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "infra" }],
      to: [{ group: "", kind: "Secret", name: "granted" }],
    },
  };
  const foreign = ["granted", "refused"].map((name) => ({ name, namespace: "certificates" }));
  const resources = {
    ingresses: [],
    ingressClasses: [],
    services: [],
    gatewayClasses: [{
      metadata: { name: "ours" },
      spec: { controllerName: "pingress.io/gateway-controller" },
    }],
    gateways: [
      gateway("own", "ours"),
      gateway("other-class", "another"),
      gateway("web", "ours", listener(["first", "Not-A-Name", ...foreign]), {
        ...listener(["plain"]),
        name: "http",
        protocol: "HTTP",
      }),
    ],
    referenceGrants: [grant],
  };
  const found = new SecretReferences(new ObjectReaders(), OPTIONS).of(resources);
  assert.deepEqual(keysOf(found), ["certificates/granted", "infra/first", "infra/own"]);
});
