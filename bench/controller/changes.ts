/**
 * Changes of single objects. In: the objects that there are. Out: patches, each with what will stand
 * in the published JSON when it has arrived there. No two of them have the same mark.
 */
import { Buffer } from "node:buffer";
import { issueData, type Population } from "./population.ts";

export interface Change {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** A merge patch, RFC 7396. */
  readonly patch: unknown;
  /** What the configuration has not before the change, and has after it. */
  readonly mark: string;
}

/** What is changed: one object of these. */
export const CHANGED_KINDS = ["Ingress", "EndpointSlice", "Secret"] as const;
export type ChangedKind = typeof CHANGED_KINDS[number];

/** Between two objects that are changed one after the other: other namespaces, other names. */
const STRIDE = 97;

/** The `round`th change of one object of `kind`. */
export async function changeOf(
  kind: ChangedKind,
  population: Population,
  round: number,
): Promise<Change> {
  switch (kind) {
    case "Ingress":
      return newPath(population, round * STRIDE, `/new-${round}`);
    case "EndpointSlice":
      return newEndpoint(population, round);
    case "Secret":
      return await newCertificate(population, round);
  }
}

/** Adds a path to the Ingress with this index, or the one that follows the last. */
export function newPath({ resources }: Population, index: number, path: string): Change {
  const { metadata, spec } = at(resources.ingresses, index);
  const [rule] = spec?.rules ?? [];
  const paths = rule?.http?.paths ?? [];
  const rules = [{ ...rule, http: { paths: [...paths, { ...paths[0], path }] } }];
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", ...placeOf(metadata) },
    patch: { spec: { rules } },
    mark: `"value":"${path}"`,
  };
}

/** A host that no Ingress has. */
export interface AddedHost extends Omit<Change, "mark"> {
  readonly host: string;
}

/** Adds a host to an Ingress, whose Service is missing: a proxy responds itself as soon as it has the host. */
export function newHost({ resources }: Population, round: number): AddedHost {
  const { metadata, spec } = at(resources.ingresses, round * STRIDE);
  const host = `added-${round}.example.com`;
  const backend = { service: { name: "missing", port: { number: 80 } } };
  const rule = { host, http: { paths: [{ path: "/", pathType: "Prefix", backend }] } };
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", ...placeOf(metadata) },
    patch: { spec: { rules: [...spec?.rules ?? [], rule] } },
    host,
  };
}

/** Another address for a Service's first endpoint, as when its pod was replaced. */
function newEndpoint({ resources }: Population, round: number): Change {
  const { metadata, endpoints } = at(resources.endpointSlices, round * STRIDE);
  const [first, ...others] = endpoints ?? [];
  const address = `10.250.${round >> 8}.${round & 255}`;
  return {
    ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", ...placeOf(metadata) },
    patch: { endpoints: [{ ...first, addresses: [address] }, ...others] },
    mark: `"address":"${address}"`,
  };
}

/** A renewed certificate, with another key, as cert-manager writes it. */
async function newCertificate(
  { resources, authority }: Population,
  round: number,
): Promise<Change> {
  const { metadata } = at(resources.secrets, round * STRIDE);
  const { namespace, name } = placeOf(metadata);
  const hosts = resources.ingresses
    .filter((ingress) => ingress.metadata?.namespace === namespace)
    .flatMap(({ spec }) => spec?.tls ?? [])
    .filter(({ secretName }) => secretName === name)
    .flatMap(({ hosts }) => hosts ?? []);
  const data = await issueData(authority, hosts);
  return {
    ...{ apiVersion: "v1", kind: "Secret", namespace, name },
    patch: { data },
    mark: lineOf(data["tls.crt"]),
  };
}

/** A line of the PEM that no other certificate has: the last full one, a part of the signature. */
function lineOf(base64: string): string {
  const lines = Buffer.from(base64, "base64").toString().split("\n");
  return lines[lines.indexOf("-----END CERTIFICATE-----") - 2];
}

function at<T>(items: readonly T[], index: number): T {
  return items[index % items.length];
}

function placeOf(metadata: { readonly namespace?: string; readonly name?: string } | undefined) {
  return { namespace: metadata?.namespace ?? "default", name: metadata?.name ?? "" };
}
