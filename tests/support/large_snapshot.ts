/**
 * Snapshots by their size. In: a shape, and how many parts of it. Out: a snapshot whose memory is
 * mostly that of these parts. The same numbers give the same snapshot, but for certificates.
 */
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import type {
  Certificate,
  Origin,
  Route,
  Snapshot,
  Upstream,
} from "../../shared/snapshot/types.ts";

export type SnapshotShape =
  | "paths"
  | "hosts"
  | "long paths"
  | "segments"
  | "conditions"
  | "upstreams"
  | "endpoints"
  | "certificates";

/** Of the shape `endpoints`. */
const ENDPOINTS = 1_000;

/** Characters of each of the shape `long paths`. */
const LONG = 1_000;

/** Segments of each path of the shape `segments`. */
const SEGMENTS = 100;

const ORIGIN: Origin = {
  kind: "Ingress",
  namespace: "team-000",
  name: "app-000",
  field: "spec.rules[0].http.paths[0]",
};

const UPSTREAM = "team-000/app:80";

export async function snapshotOfShape(shape: SnapshotShape, count: number): Promise<Snapshot> {
  switch (shape) {
    case "paths":
      return snapshot(each(count, (i) => route("app.example.com", `/${name(i)}`)));
    case "hosts":
      return snapshot(each(count, (i) => route(hostAt(i), "/")));
    case "long paths":
      return snapshot(each(count, (i) => route("app.example.com", `/${longName(i)}`)));
    case "segments":
      return snapshot(
        each(count, (i) => route("app.example.com", `/${name(i)}${"/a".repeat(SEGMENTS)}`)),
      );
    case "conditions":
      return snapshot(each(count, (i) => conditionalRoute(name(i))));
    case "upstreams":
      return withUpstreams(count, 2);
    case "endpoints":
      return withUpstreams(Math.ceil(count / ENDPOINTS), ENDPOINTS);
    case "certificates":
      return snapshot(
        each(count, (i) => route(hostAt(i), "/")),
        undefined,
        await certificates(count),
      );
  }
}

function withUpstreams(count: number, endpoints: number): Snapshot {
  const id = (i: number) => `team-000/app-${name(i)}:80`;
  return snapshot(
    each(count, (i) => route(hostAt(i), "/", id(i))),
    each(count, (i) => upstream(id(i), endpoints)),
  );
}

function snapshot(
  routes: readonly Route[],
  upstreams: readonly Upstream[] = [upstream(UPSTREAM, 1)],
  certificates: readonly Certificate[] = [],
): Snapshot {
  return {
    format: 2,
    version: { epoch: "file", seen: {} },
    routes,
    defaultAction: null,
    upstreams,
    certificates,
    defaultCertificate: null,
  };
}

function route(host: string, path: string, upstream = UPSTREAM): Route {
  return {
    id: `${host} Exact ${path}`,
    host,
    match: { path: { type: "Exact", value: path } },
    action: { kind: "forward", backends: [{ upstream }] },
    origin: ORIGIN,
  };
}

/** All of one path: a condition of each kind, of which the patterns differ. */
function conditionalRoute(name: string): Route {
  const plain = route("app.example.com", "/");
  return {
    ...plain,
    id: `${plain.id} ${name}`,
    match: {
      ...plain.match,
      method: "GET",
      headers: [
        { name: "x-name", type: "Exact", value: name },
        { name: "x-pattern", type: "Regex", value: `${name}-[0-9]+|other-.*` },
      ],
      query: [{ name: "name", type: "Exact", value: name }],
    },
  };
}

function upstream(id: string, endpoints: number): Upstream {
  const addresses = each(endpoints, (i) => `10.0.${i >> 8}.${i & 255}`).sort();
  return {
    id,
    protocol: "http",
    addresses: {
      kind: "endpoints",
      endpoints: addresses.map((address) => ({ address, port: 8080 })),
    },
  };
}

async function certificates(count: number): Promise<Certificate[]> {
  const authority = await CertificateAuthority.create("Large snapshot");
  return await Promise.all(each(count, async (i) => {
    const { chain, key } = await authority.issue({ names: [hostAt(i)] });
    return {
      id: name(i).padStart(64, "0"),
      hosts: [hostAt(i)],
      chain: { kind: "pem", pem: chain } as const,
      key: { kind: "secret", pem: key } as const,
      origin: { ...ORIGIN, kind: "Secret", field: "data" },
    };
  }));
}

function each<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function name(index: number): string {
  return String(index).padStart(7, "0");
}

function hostAt(index: number): string {
  return `app-${name(index)}.example.com`;
}

/** No two share much of it: digits of a number that is another one each time. */
function longName(index: number): string {
  let text = name(index);
  for (let n = index + 1; text.length < LONG; n = (n * 48_271) % 2_147_483_647) {
    text += n.toString(36);
  }
  return text.slice(0, LONG);
}
