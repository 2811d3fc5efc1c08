/**
 * Tenants with TLS to their backends. In: names of Services, their annotations and Secrets. Out: objects for a `Scene`,
 * and what the upstreams of a namespace came to.
 */
import { Buffer } from "node:buffer";
import type { KubeSecret, Resources } from "../../controller/kube/resources.ts";
import { UPSTREAM_TLS } from "../../controller/translate/annotations/own_annotation_names.ts";
import type { Translation } from "../../controller/translate/translator.ts";
import type { Problem } from "../../shared/problem.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import type { Upstream } from "../../shared/snapshot/types.ts";
import { gateway, ingress, route } from "./shared_address_scene.ts";

export type Annotations = Readonly<Record<string, string>>;

/** A Secret with authorities. */
export function authority(namespace: string, pem: string, name = "ca"): KubeSecret {
  return {
    metadata: { namespace, name },
    data: { "ca.crt": btoa(pem) },
  } as unknown as KubeSecret;
}

/** With one port, which is spoken to by TLS. */
export function service(namespace: string, name: string, annotations: Annotations) {
  return {
    metadata: { namespace, name, annotations },
    spec: { ports: [{ port: 80, appProtocol: "https" }] },
  };
}

export function slice(namespace: string, name: string, endpoints = 1) {
  return {
    metadata: { name, namespace, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: Array.from(
      { length: endpoints },
      (_, i) => ({ addresses: [`10.0.${i >> 7}.${9 + (i & 127)}`] }),
    ),
    ports: [{ port: 8080 }],
  };
}

/** With a host of its own, and the Service of the same name. */
export function ingressTo(namespace: string, name: string, port = 80) {
  const made = ingress(namespace, name, 0, `${name}.${namespace}.test`);
  made.spec.rules[0].http.paths[0].backend.service = { name, port: { number: port } };
  return made;
}

export function routeTo(namespace: string, name: string) {
  const made = route(namespace, name, 0, [`${name}.${namespace}.test`], ["infra/web"]);
  made.spec.rules[0].backendRefs[0].name = name;
  return made;
}

/** `s00` and so on. */
export const NAMES: readonly string[] = Array.from(
  { length: 40 },
  (_, i) => `s${String(i).padStart(2, "0")}`,
);

interface Settings {
  readonly names?: readonly string[];
  /** Of each Service. */
  readonly annotations?: Annotations | ((i: number) => Annotations);
}

/**
 * Of a tenant `evil` whose Services name Secrets, and of `shop` with a single Service.
 *
 * @param small The authority of `shop`.
 * @param secrets Those of `evil`.
 */
export function tenants(
  small: string,
  secrets: readonly KubeSecret[],
  { names = NAMES, annotations = { [UPSTREAM_TLS.ca]: "ca" } }: Settings = {},
): Pick<Resources, "services" | "endpointSlices" | "secrets"> {
  const annotationsOf = typeof annotations === "function" ? annotations : () => annotations;
  return {
    services: [
      ...names.map((name, i) => service("evil", name, annotationsOf(i))),
      service("shop", "web", { [UPSTREAM_TLS.ca]: "ca" }),
    ],
    endpointSlices: [...names.map((name) => slice("evil", name)), slice("shop", "web")],
    secrets: [authority("shop", small), ...secrets],
  };
}

export const BY_INGRESSES: Partial<Resources> = {
  ingresses: [...NAMES.map((name) => ingressTo("evil", name)), ingressTo("shop", "web")],
};

export const BY_ROUTES: Partial<Resources> = {
  gateways: [gateway("infra", "web", 0, null)],
  httpRoutes: [...NAMES.map((name) => routeTo("evil", name)), routeTo("shop", "web")],
};

export function upstreamsOf({ snapshot }: Translation, namespace: string): readonly Upstream[] {
  return snapshot.upstreams.filter(({ id }) => id.startsWith(`${namespace}/`));
}

/** What the upstreams of a tenant have as authorities, each once. */
export function authorities(translation: Translation, namespace: string): readonly string[] {
  return [...new Set(upstreamsOf(translation, namespace).map(({ tls }) => tls?.ca?.pem ?? "none"))];
}

export function isServed({ addresses }: Upstream): boolean {
  return addresses.kind === "dns" || addresses.endpoints.length > 0;
}

/** Problems with the bound of the cluster. */
export function full({ problems }: Translation): readonly Problem[] {
  return problems.filter(({ reason }) => reason === "ClusterLimitExceeded");
}

/** Bytes on the stream. */
export function lineOf({ snapshot }: Translation): number {
  return Buffer.byteLength(serialiseSnapshot(snapshot, { revealKeys: true }));
}
