/**
 * Objects of one tenant with many of one thing. In: how many. Out: all that a controller watches.
 */
import type { Resources } from "../../controller/kube/resources.ts";
import { NONE, secret, service, slice } from "../support/rich_cluster.ts";

type Extras = Readonly<Record<string, unknown>>;

/** An Ingress of the tenant. */
export function ingressOf(spec: Extras, annotations: Extras = {}, metadata: Extras = {}) {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "one", namespace: TENANT, annotations, ...metadata },
    spec,
  } as Resources["ingresses"][number];
}

const BACKEND = { service: { name: "web", port: { number: 80 } } };

export function pathOf(path: string, pathType = "Prefix", backend: unknown = BACKEND) {
  return { path: `/1${path}`, pathType, backend };
}

export function ruleOf(host: string, paths: readonly unknown[] = [pathOf("/")]) {
  return { host, http: { paths } };
}

export function listOf<T>(count: number, element: (i: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, i) => element(i));
}

const TENANT = "tenant-1";

const TLS = secret("tls", "", "app");

/** A cluster with one Ingress. */
export function clusterOf(spec: Extras, annotations: Extras = {}): Resources {
  return {
    ...NONE,
    ingresses: [ingressOf(spec, annotations)],
    services: [service("web", TENANT)],
    endpointSlices: [slice("web", TENANT, "web-1", ["10.0.0.1"])],
    secrets: [{ ...TLS, metadata: { name: "tls", namespace: TENANT } }],
  };
}

const NAMES = {
  "nginx.ingress.kubernetes.io/from-to-www-redirect": "true",
  "nginx.ingress.kubernetes.io/server-alias": "a.test, b.test",
};
const REWRITE = { "nginx.ingress.kubernetes.io/rewrite-target": "/" };
const SATISFY = { "nginx.ingress.kubernetes.io/satisfy": "any" };

export const ONE_HOST = `${TENANT}.test`;
const hostOf = (i: number) => `host-${i}.${ONE_HOST}`;

/** One Ingress by what it has many of. */
export const INGRESSES: Readonly<Record<string, (count: number) => Resources>> = {
  "rules of hosts": (count) => clusterOf({ rules: listOf(count, (i) => ruleOf(hostOf(i))) }),
  "rules of one host": (count) =>
    clusterOf({ rules: listOf(count, (i) => ruleOf(ONE_HOST, [pathOf(`/${i}`)])) }),
  "the same rule again": (count) => clusterOf({ rules: listOf(count, () => ruleOf(ONE_HOST)) }),
  "rules without a path": (count) =>
    clusterOf({ rules: listOf(count, (i) => ({ host: hostOf(i) })) }),
  "bad hosts": (count) => clusterOf({ rules: listOf(count, (i) => ruleOf(`-${i}`)) }),
  "wildcards": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(`*.${hostOf(i)}`)),
      tls: [{ secretName: "tls" }],
    }),
  "paths": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST, listOf(count, (i) => pathOf(`/${i}/a`)))] }),
  "paths one below the other": (count) =>
    clusterOf({
      rules: [ruleOf(ONE_HOST, listOf(Math.sqrt(count), (i) => pathOf("/a".repeat(i))))],
    }),
  "bad paths": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST, listOf(count, (i) => pathOf(`${i}%`)))] }),
  "backends that are missing": (count) =>
    clusterOf({
      rules: [
        ruleOf(
          ONE_HOST,
          listOf(count, (i) => {
            const service = { name: `gone-${i}`, port: { number: 80 } };
            return pathOf(`/${i}`, "Exact", { service });
          }),
        ),
      ],
    }),
  "ports that are missing": (count) =>
    clusterOf({
      rules: [
        ruleOf(
          ONE_HOST,
          listOf(count, (i) => {
            const service = { name: "web", port: { number: i + 1 } };
            return pathOf(`/${i}`, "Exact", { service });
          }),
        ),
      ],
    }),
  "paths that an annotation closes": (count) =>
    clusterOf({ rules: listOf(count, (i) => ruleOf(hostOf(i), [pathOf(`/${i}`)])) }, {
      ...REWRITE,
      ...SATISFY,
    }),
  "TLS entries": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(count, (i) => ({ hosts: [hostOf(i)], secretName: "tls" })),
    }),
  "TLS entries without a Secret": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(count, (i) => ({ hosts: [hostOf(i)], secretName: `gone-${i}` })),
    }),
  "the same TLS entry again": (count) =>
    clusterOf({
      rules: [ruleOf(ONE_HOST)],
      tls: listOf(count, () => ({ hosts: [ONE_HOST], secretName: "tls" })),
    }),
  "TLS entries without hosts": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST)], tls: listOf(count, () => ({ secretName: "tls" })) }),
  "hosts of one TLS entry": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, hostOf), secretName: "tls" }],
    }),
  "hosts of a TLS entry without rules": (count) =>
    clusterOf({ rules: [ruleOf(ONE_HOST)], tls: [{ hosts: listOf(count, hostOf) }] }),
  "TLS entries of one wildcard": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(count, () => ({ hosts: [`*.${ONE_HOST}`], secretName: "tls" })),
    }),
  "one wildcard again in a TLS entry": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, () => `*.${ONE_HOST}`), secretName: "tls" }],
    }),
  "Secrets for one wildcard": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: listOf(
        // Fewer than a namespace may have certificates.
        count / 4,
        (i) => ({ hosts: [`*.${ONE_HOST}`], secretName: `gone-${i}` }),
      ),
    }),
  "hosts with other names": (count) =>
    clusterOf({
      rules: listOf(count, (i) => ruleOf(hostOf(i))),
      tls: [{ hosts: listOf(count, hostOf), secretName: "tls" }],
    }, NAMES),
  "annotations": (count) =>
    clusterOf(
      { rules: [ruleOf(ONE_HOST)] },
      Object.fromEntries(
        listOf(count, (i) => [`nginx.ingress.kubernetes.io/a-${i}`, "a"]),
      ),
    ),
  "annotations of ours": (count) =>
    clusterOf(
      { rules: [ruleOf(ONE_HOST)] },
      Object.fromEntries(listOf(count, (i) => [`pingress.io/a-${i}`, "a"])),
    ),
};

/** Objects by what there are many of. */
export const OBJECTS: Readonly<Record<string, (count: number) => Resources>> = {
  "Ingresses with the same path": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) => ingressOf({ rules: [ruleOf(ONE_HOST)] }, {}, { name: `one-${i}` }),
    ),
  }),
  "namespaces with the same host": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) =>
        ingressOf({ rules: [ruleOf(ONE_HOST, [pathOf(`/${i}`)])] }, {}, {
          namespace: `${TENANT}-${i}`,
        }),
    ),
  }),
  "namespaces with the same host in TLS": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) =>
        ingressOf(
          { rules: [ruleOf(ONE_HOST)], tls: [{ hosts: [ONE_HOST], secretName: "tls" }] },
          {},
          {
            namespace: `${TENANT}-${i}`,
          },
        ),
    ),
  }),
  "default backends": (count) => ({
    ...clusterOf({}),
    ingresses: listOf(
      count,
      (i) => ingressOf({ defaultBackend: BACKEND }, {}, { namespace: `${TENANT}-${i}` }),
    ),
  }),
  "endpoints": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: [slice("web", TENANT, "web-1", listOf(count, addressOf))],
  }),
  "the same endpoint again": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: [slice("web", TENANT, "web-1", listOf(count, () => "10.0.0.1"))],
  }),
  "endpoints that are no addresses": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: [slice("web", TENANT, "web-1", listOf(count, (i) => `a${i}`))],
  }),
  "EndpointSlices": (count) => ({
    ...clusterOf({ rules: [ruleOf(ONE_HOST)] }),
    endpointSlices: listOf(count, (i) => slice("web", TENANT, `web-${i}`, [addressOf(i)])),
  }),
  "Services": (count) => ({
    ...clusterOf({
      rules: [
        ruleOf(
          ONE_HOST,
          listOf(count, (i) => {
            const service = { name: `web-${i}`, port: { name: "http" } };
            return pathOf(`/${i}`, "Prefix", { service });
          }),
        ),
      ],
    }),
    services: listOf(count, (i) => service(`web-${i}`, TENANT)),
    endpointSlices: listOf(count, (i) => slice(`web-${i}`, TENANT, `web-${i}`, [addressOf(i)])),
  }),
};

function addressOf(i: number): string {
  return `10.1.${i >> 8}.${i & 255}`;
}
