/**
 * What one tenant can make of each kind of text, up to every bound: all of what is then published fits ConfigMaps, Secrets,
 * the stream and proxies, and somebody else is served.
 */
import assert from "node:assert/strict";
import {
  type ProxyMemory,
  PUBLISHED_SHARE,
  snapshotBudget,
  snapshotMemory,
} from "../../../shared/snapshot/memory.ts";
import { layPublishedSet } from "../../outputs/publish/layout.ts";
import { DEFAULT_OBJECT_BOUNDS, ObjectLedger } from "../../kube/object_bounds.ts";
import { reduceEndpointSlice, reduceIngress, reduceService } from "../../kube/reduce.ts";
import type { EndpointSlice, Ingress, KubeSecret, Service } from "../../kube/resources.ts";
import { Updates } from "../../stream/updates.ts";
import { DEFAULT_CLUSTER_BOUNDS, translate } from "../translator.ts";
import { chainOf, secretWith } from "../../../tests/support/large_certificates.ts";
import { TRANSLATE_OPTIONS } from "../../../tests/support/translate_options.ts";

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_~!$&'()*+,=:@";

/** Random text of the first so many letters of these. */
function text(length: number, letters = 36): string {
  let all = "";
  while (all.length < length) {
    const bytes = crypto.getRandomValues(new Uint8Array(Math.min(length - all.length, 65_536)));
    all += Array.from(bytes, (byte) => LETTERS[byte % letters]).join("");
  }
  return all;
}

function range<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function meta(namespace: string, name: string) {
  const creationTimestamp = "2026-01-01T00:00:00Z";
  return { namespace, name, uid: name, resourceVersion: "1", creationTimestamp };
}

interface WrittenPath {
  readonly host: string;
  readonly path: string;
  readonly service: string;
  readonly port: number | string;
}

function ingress(
  namespace: string,
  name: string,
  paths: readonly WrittenPath[],
  more: { readonly annotations?: Record<string, string>; readonly tls?: object[] } = {},
): Ingress {
  return {
    metadata: { ...meta(namespace, name), annotations: more.annotations },
    spec: {
      ingressClassName: "pingress",
      rules: paths.map(({ host, path, service, port }) => ({
        host,
        http: {
          paths: [{
            path,
            pathType: "Exact",
            backend: {
              service: {
                name: service,
                port: typeof port === "number" ? { number: port } : { name: port },
              },
            },
          }],
        },
      })),
      ...(more.tls === undefined ? {} : { tls: more.tls }),
    },
  };
}

interface Objects {
  readonly ingresses: readonly Ingress[];
  readonly services?: readonly Service[];
  readonly endpointSlices?: readonly EndpointSlice[];
  readonly secrets?: readonly KubeSecret[];
}

const VICTIM: Objects = {
  ingresses: [
    ingress("victim", "shop", [{ host: "victim.test", path: "/", service: "web", port: 80 }]),
  ],
  services: [service("victim", "web", [{ port: 80 }])],
  endpointSlices: [slice("victim", "web", "web-1", [{ port: 80 }], [{ addresses: ["10.9.9.9"] }])],
};

function service(namespace: string, name: string, ports: readonly object[]): Service {
  return {
    metadata: meta(namespace, name),
    spec: { type: "ClusterIP", ports },
  } as unknown as Service;
}

function slice(
  namespace: string,
  of: string,
  name: string,
  ports: readonly object[],
  endpoints: readonly object[],
): EndpointSlice {
  return {
    metadata: { ...meta(namespace, name), labels: { "kubernetes.io/service-name": of } },
    addressType: "IPv4",
    ports: ports.map((port) => ({ protocol: "TCP", ...port })),
    endpoints,
  } as unknown as EndpointSlice;
}

const MIB = 1024 * 1024;

/** A population as objects are kept, translated twice: what is published counts as what is asked for does. */
function assertPublishable(
  tenant: Objects,
  memory: ProxyMemory | null = { limit: 1024 * MIB, workers: 4 },
): void {
  const [ingresses, services, endpointSlices] = [
    [...VICTIM.ingresses, ...tenant.ingresses].map(door("Ingress", reduceIngress)),
    [...VICTIM.services!, ...tenant.services ?? []].map(door("Service", reduceService)),
    [...VICTIM.endpointSlices!, ...tenant.endpointSlices ?? []].map(
      door("EndpointSlice", reduceEndpointSlice),
    ),
  ];
  const resources = { ingresses, services, endpointSlices, secrets: tenant.secrets ?? [] };
  const translated = (published: ReturnType<typeof translate>["snapshot"] | null) =>
    translate({ ...resources, ingressClasses: [] } as never, published, {
      ...TRANSLATE_OPTIONS,
      controllerNames: [],
      version: { epoch: "cluster", seen: {} },
      clusterBounds: { ...DEFAULT_CLUSTER_BOUNDS, memory },
    }, () => Date.UTC(2026, 0, 1)).snapshot;
  let published: ReturnType<typeof translated> | null = null;
  for (const turn of ["first", "second"]) {
    const snapshot: ReturnType<typeof translated> = translated(published);
    const layout = layPublishedSet(snapshot);
    assert.ok(layout.ok, layout.ok ? "" : `${turn}: ${layout.problem.message}`);
    assert.deepEqual(new Updates(() => 0).take(snapshot), { ok: true }, turn);
    if (memory !== null) {
      const [used, budget] = [
        snapshotMemory(snapshot, memory.workers),
        snapshotBudget(memory, PUBLISHED_SHARE),
      ];
      assert.ok(used <= budget, `${turn}: ${used} bytes in proxies, which have ${budget}`);
    }
    const route = snapshot.routes.find(({ host }) => host === "victim.test");
    assert.equal(route?.action.kind, "forward", `${turn}: others are served`);
    const addresses = snapshot.upstreams.find(({ id }) => id.startsWith("victim/"))?.addresses;
    assert.deepEqual(
      addresses?.kind === "endpoints" && addresses.endpoints.map(({ address }) => address),
      ["10.9.9.9"],
    );
    published = snapshot;
  }
}

function door(
  kind: "Ingress" | "Service" | "EndpointSlice",
  reduce: typeof reduceIngress,
): <T extends Ingress | Service | EndpointSlice>(object: T) => T {
  const bounded = new ObjectLedger(kind, DEFAULT_OBJECT_BOUNDS, () => {}).bounded(reduce);
  return (object) => bounded(object as never) as never;
}

const PROXIES: readonly (readonly [name: string, memory: ProxyMemory | null])[] = [
  ["1 GiB", { limit: 1024 * MIB, workers: 4 }],
  ["8 GiB", { limit: 8 * 1024 * MIB, workers: 4 }],
];

for (const ports of [100, 250, 1_000]) {
  Deno.test(`a zone of 110,000 characters in a Service of ${ports} ports is not published`, () => {
    const all = range(ports, (i) => ({ name: `p${i}`, port: 1_000 + i }));
    const paths = all.map(({ name }) => ({
      ...{ host: "evil.test", path: `/${name}`, service: "web", port: name },
    }));
    assertPublishable({
      ingresses: [ingress("evil", "i", paths)],
      services: [service("evil", "web", all)],
      endpointSlices: [
        slice("evil", "web", "web-1", all, [{ addresses: ["10.0.0.1"], zone: text(110_000) }]),
      ],
    });
  });
}

Deno.test("long hosts in certificates", () => {
  const host = () => [62, 62, 62, 59].map((length) => text(length)).join(".");
  assertPublishable({
    ingresses: range(3, (n) =>
      range(21, (i) => {
        const hosts = range(470, host);
        const { metadata, spec } = ingress(`evil-${n}`, `i${i}`, [], {
          tls: [{ hosts, secretName: "t" }],
        });
        const defaultBackend = { service: { name: "web", port: { number: 80 } } };
        return {
          metadata,
          spec: { ...spec, defaultBackend, rules: hosts.map((host) => ({ host })) },
        } as Ingress;
      })).flat(),
    secrets: range(3, (n) => secretWith(`evil-${n}`, "t", chainOf({ wildcard: 1 }))),
  }, PROXIES[1][1]);
});

for (const services of [100, 10_000]) {
  Deno.test(`10,000 routes of each namespace to ${services} Services with long random names`, () => {
    const names = range(services, () => `s${text(62)}`);
    const tenants = range(5, (n) => `evil-${n}-${text(50)}`);
    assertPublishable({
      ingresses: tenants.flatMap((namespace) =>
        range(10, (i) =>
          ingress(
            namespace,
            `i${i}`,
            range(1_000, (p) => ({
              ...{ host: `${i}.${namespace}.test`, path: `/${p}` },
              ...{ service: names[(i * 1_000 + p) % services], port: 80 },
            })),
          ))
      ),
      services: tenants.flatMap((namespace) =>
        names.map((name) => service(namespace, name, [{ port: 80 }]))
      ),
      endpointSlices: tenants.flatMap((namespace) =>
        names.map((name) =>
          slice(namespace, name, name, [{ port: 80 }], [{ addresses: ["10.0.0.1"] }])
        )
      ),
    }, PROXIES[1][1]);
  });
}
