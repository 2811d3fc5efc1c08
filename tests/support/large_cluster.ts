/**
 * The objects of a cluster of any size. In: how many of each kind. Out: Ingresses in many namespaces
 * with the Services, EndpointSlices and TLS Secrets that they name, all of them such as an API server
 * takes. The same numbers give the same objects, to the last byte of every certificate.
 */
import "reflect-metadata";
import { createPrivateKey, createPublicKey } from "node:crypto";
import * as x509 from "@peculiar/x509";
import type {
  EndpointSlice,
  Ingress,
  KubeSecret,
  ObjectMeta,
  Resources,
  Service,
} from "../../controller/kube/resources.ts";

export interface ClusterSize {
  readonly ingresses: number;
  readonly namespaces: number;
  readonly services: number;
  /** Spread over one EndpointSlice for each Service. */
  readonly endpoints: number;
  readonly certificates: number;
}

/** The size that the controller has its limits of time and memory for. */
export const LARGE: ClusterSize = {
  ingresses: 10_000,
  namespaces: 500,
  services: 2_000,
  endpoints: 20_000,
  certificates: 1_000,
};

export interface LargeCluster {
  readonly namespaces: readonly string[];
  readonly resources: Resources;
}

/**
 * Ingress `app-7` of a namespace has one host with one path, and one warning in ten of them (an
 * annotation of ingress-nginx). Where there are certificates, each has the hosts of its Ingresses as
 * names. Making one takes about 2 ms.
 */
export async function largeCluster(size: ClusterSize): Promise<LargeCluster> {
  const services = spread(size.services, size.namespaces);
  const secrets = spread(size.certificates, size.namespaces);
  const ingresses = spread(size.ingresses, size.namespaces).map((place) => {
    const ofNamespace = (all: readonly Place[]) => countIn(all, place.namespace, size.namespaces);
    return ingressAt(place, ofNamespace(services), ofNamespace(secrets));
  });
  const perService = Math.floor(size.endpoints / Math.max(1, size.services));
  const remaining = size.endpoints - perService * size.services;
  return {
    namespaces: Array.from({ length: size.namespaces }, (_, i) => namespaceName(i)),
    resources: {
      ingresses,
      ingressClasses: [{
        apiVersion: "networking.k8s.io/v1",
        kind: "IngressClass",
        metadata: { name: "pingress" },
        spec: { controller: "pingress.io/ingress-controller" },
      }],
      services: services.map(serviceAt),
      endpointSlices: services.map((place, i) =>
        sliceAt(place, i, perService + (i < remaining ? 1 : 0))
      ),
      secrets: await makeSecrets(secrets, ingresses),
    },
  };
}

/** The same objects in new lists, but for one that is replaced. */
export function withObject<
  K extends "ingresses" | "ingressClasses" | "services" | "endpointSlices" | "secrets",
>(
  resources: Resources,
  kind: K,
  index: number,
  object: Resources[K][number],
): Resources {
  const objects: readonly Resources[K][number][] = resources[kind];
  const copies = {
    ingresses: [...resources.ingresses],
    ingressClasses: [...resources.ingressClasses],
    services: [...resources.services],
    endpointSlices: [...resources.endpointSlices],
    secrets: [...resources.secrets],
  };
  return { ...copies, [kind]: objects.with(index, object) };
}

/** Which of its namespace an object is. */
interface Place {
  readonly namespace: number;
  readonly number: number;
}

function spread(count: number, namespaces: number): Place[] {
  return Array.from({ length: count }, (_, i) => ({
    namespace: i % namespaces,
    number: Math.floor(i / namespaces),
  }));
}

function countIn(all: readonly Place[], namespace: number, namespaces: number): number {
  return Math.ceil((all.length - namespace) / namespaces);
}

function namespaceName(index: number): string {
  return `team-${String(index).padStart(3, "0")}`;
}

function metadataOf(namespace: number, name: string, extras: ObjectMeta = {}): ObjectMeta {
  return { name, namespace: namespaceName(namespace), ...extras };
}

/** Within ten years from 2015 on, in no order; many share their second. */
function creationTime({ namespace, number }: Place): string {
  const seconds = ((namespace * 7919 + number * 104_729) % 50_000) * 6_000;
  return new Date(Date.UTC(2015, 0, 1) + seconds * 1000).toISOString().replace(".000Z", "Z");
}

function ingressAt(place: Place, services: number, secrets: number): Ingress {
  const { namespace, number } = place;
  const host = `app-${number}.${namespaceName(namespace)}.example.com`;
  const name = `web-${number % Math.max(1, services)}`;
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: metadataOf(namespace, `app-${number}`, {
      creationTimestamp: creationTime(place),
      ...(number % 10 === 9
        ? { annotations: { "nginx.ingress.kubernetes.io/proxy-read-timeout": "30" } }
        : {}),
    }),
    spec: {
      ingressClassName: "pingress",
      ...(secrets > 0
        ? { tls: [{ hosts: [host], secretName: `certificate-${number % secrets}` }] }
        : {}),
      rules: [{
        host,
        http: {
          paths: [{
            path: "/",
            pathType: "Prefix",
            backend: { service: { name, port: { name: "http" } } },
          }],
        },
      }],
    },
  };
}

function serviceAt({ namespace, number }: Place): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: metadataOf(namespace, `web-${number}`),
    spec: {
      type: "ClusterIP",
      ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: 8080 }],
    },
  };
}

/** @param index Of the Service among all, which decides on the addresses. */
function sliceAt({ namespace, number }: Place, index: number, endpoints: number): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: metadataOf(namespace, `web-${number}-abcde`, {
      labels: { "kubernetes.io/service-name": `web-${number}` },
    }),
    addressType: "IPv4",
    endpoints: Array.from({ length: endpoints }, (_, i) => ({
      addresses: [`10.${i}.${index >> 8}.${index & 255}`],
      conditions: { ready: true, serving: true, terminating: false },
      zone: `zone-${i % 3}`,
    })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

/** Pairs of the golden files, since making one takes long and gives another each time. */
const LEAF_KEYS = ["app", "renewed", "two", "wildcard"];

/** RSA's signatures of this kind are the same each time; ECDSA's are not. */
const SIGNING = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
const NOT_BEFORE = new Date("2025-01-01T00:00:00Z");
const NOT_AFTER = new Date("2125-01-01T00:00:00Z");

async function makeSecrets(
  places: readonly Place[],
  ingresses: readonly Ingress[],
): Promise<KubeSecret[]> {
  if (places.length === 0) return [];
  const hosts = Map.groupBy(
    ingresses,
    ({ metadata, spec }) => `${metadata?.namespace}/${spec?.tls?.[0].secretName}`,
  );
  const authority = await makeAuthority();
  const pairs = await Promise.all(LEAF_KEYS.map(readLeafKey));
  const secrets: KubeSecret[] = [];
  for (const [i, { namespace, number }] of places.entries()) {
    const name = `certificate-${number}`;
    const users = hosts.get(`${namespaceName(namespace)}/${name}`) ?? [];
    const names = users.flatMap(({ spec }) => spec?.tls?.[0].hosts ?? []);
    const { key, publicKey } = pairs[i % pairs.length];
    const leaf = await issue(authority, i + 2, names, publicKey);
    secrets.push({
      apiVersion: "v1",
      kind: "Secret",
      metadata: metadataOf(namespace, name),
      type: "kubernetes.io/tls",
      data: { "tls.crt": btoa(`${leaf}${authority.pem}`), "tls.key": btoa(key) },
    });
  }
  return secrets;
}

interface Authority {
  readonly pem: string;
  readonly name: string;
  readonly key: CryptoKey;
}

async function makeAuthority(): Promise<Authority> {
  const secret = createPrivateKey(readGolden("rsa.key"));
  const key = await crypto.subtle.importKey(
    "pkcs8",
    new Uint8Array(secret.export({ type: "pkcs8", format: "der" })),
    SIGNING,
    false,
    ["sign"],
  );
  const publicKey = await crypto.subtle.importKey(
    "spki",
    new Uint8Array(createPublicKey(secret).export({ type: "spki", format: "der" })),
    SIGNING,
    true,
    ["verify"],
  );
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: "01",
    name: "CN=Large cluster",
    keys: { privateKey: key, publicKey },
    signingAlgorithm: SIGNING,
    notBefore: NOT_BEFORE,
    notAfter: NOT_AFTER,
    extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
  });
  return { pem: `${certificate.toString("pem")}\n`, name: certificate.subject, key };
}

async function issue(
  { name, key }: Authority,
  serial: number,
  names: readonly string[],
  publicKey: CryptoKey,
): Promise<string> {
  const leaf = await x509.X509CertificateGenerator.create({
    serialNumber: serial.toString(16).padStart(8, "0"),
    subject: "CN=Large cluster",
    issuer: name,
    publicKey,
    signingKey: key,
    signingAlgorithm: SIGNING,
    notBefore: NOT_BEFORE,
    notAfter: NOT_AFTER,
    extensions: [
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: "dns", value } as const)),
      ),
    ],
  });
  return `${leaf.toString("pem")}\n`;
}

async function readLeafKey(name: string): Promise<{ key: string; publicKey: CryptoKey }> {
  const key = readGolden(`${name}.key`);
  const publicKey = await crypto.subtle.importKey(
    "spki",
    new Uint8Array(createPublicKey(key).export({ type: "spki", format: "der" })),
    { name: "ECDSA", namedCurve: "P-256" },
    true,
    ["verify"],
  );
  return { key, publicKey };
}

function readGolden(file: string): string {
  return Deno.readTextFileSync(new URL(`../golden/certificates/${file}`, import.meta.url));
}
