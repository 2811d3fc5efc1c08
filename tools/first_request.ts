/**
 * What to try first. In: Ingresses, Gateways, nodes and the proxies' Service. Out: those that are served, and a
 * curl line that a proxy answers. Pure.
 */
import type { KubeObject } from "../controller/kube/types.ts";
import { readGatewayClasses } from "../controller/translate/gateway/objects/gateway_class.ts";
import type { Ingress } from "../controller/kube/resources.ts";
import { asList, asText, fieldOf } from "../controller/base/json.ts";
import { INGRESS_CLASS, PROXY } from "./installation.ts";

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

/** Those of our class by its name; an Ingress of a default class is not counted. */
export function ownIngresses(objects: readonly KubeObject[]): Ingress[] {
  return objects.filter((object) => {
    const name = fieldOf(fieldOf(object, "spec"), "ingressClassName") ??
      object.metadata.annotations?.[CLASS_ANNOTATION];
    return object.kind === "Ingress" && name === INGRESS_CLASS;
  }) as Ingress[];
}

/** Those of a class of ours. @param classes GatewayClasses of the cluster. */
export function ownGateways(
  gateways: readonly KubeObject[],
  classes: readonly KubeObject[],
): KubeObject[] {
  const ours = readGatewayClasses(classes);
  return gateways.filter(({ spec }: KubeObject & { readonly spec?: unknown }) =>
    ours.has(String(fieldOf(spec, "gatewayClassName")))
  );
}

/**
 * An address that leads to proxies: of a node, preferably an external one, or of the Service; null
 * where there is none yet.
 */
export function proxyAddress(
  backend: "HostPort" | "LoadBalancer",
  objects: readonly KubeObject[],
): string | null {
  if (backend === "LoadBalancer") {
    const service = objects.find(({ kind, metadata }) =>
      kind === "Service" && metadata.name === PROXY
    );
    const [point] = asList(
      fieldOf(fieldOf(fieldOf(service, "status"), "loadBalancer"), "ingress"),
    ) ?? [];
    return asText(fieldOf(point, "ip")) ?? asText(fieldOf(point, "hostname"));
  }
  const addresses = objects.filter(({ kind }) => kind === "Node")
    .flatMap((node) => asList(fieldOf(fieldOf(node, "status"), "addresses")) ?? []);
  for (const type of ["ExternalIP", "InternalIP"]) {
    const found = addresses.find((address) => fieldOf(address, "type") === type);
    if (found !== undefined) return asText(fieldOf(found, "address"));
  }
  return null;
}

/** `curl --resolve app.example.com:80:10.0.0.1 http://app.example.com/`; names stay as they are. */
export function curlLine(ingress: Ingress, address: string): string {
  const rules = ingress.spec?.rules ?? [];
  const rule = rules.find(({ host }) => host != null && host !== "") ?? rules[0];
  const path = rule?.http?.paths?.[0]?.path ?? "/";
  const literal = address.includes(":") ? `[${address}]` : address;
  const pattern = rule?.host ?? "";
  if (pattern === "") return `curl http://${literal}${path}`;
  const host = pattern.replace(/^\*\./, "www.");
  const isSecure = (ingress.spec?.tls ?? []).some(({ hosts }) => hosts?.includes(pattern));
  const [scheme, port] = isSecure ? ["https", 443] : ["http", 80];
  // A certificate may be one that nobody but its maker knows.
  const flags = isSecure ? "-k " : "";
  return /^[\d.]+$|:/.test(address)
    ? `curl ${flags}--resolve ${host}:${port}:${literal} ${scheme}://${host}${path}`
    : `curl ${flags}--connect-to ${host}:${port}:${address}:${port} ${scheme}://${host}${path}`;
}
