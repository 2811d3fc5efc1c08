/**
 * Random configurations that follow each other. In: random choices. Out: a snapshot with its
 * certificates, then others that differ from the one before in a few places, as in a cluster.
 */
import { upstreamsOf } from "../../shared/snapshot/forward_action.ts";
import type { ServerCertificate } from "../../proxy/certificates/store.ts";
import { Redacted } from "../../shared/redacted.ts";
import {
  type Action,
  type Endpoint,
  type PathMatch,
  type Route,
  type Snapshot,
  SNAPSHOT_FORMAT,
  type Upstream,
} from "../../shared/snapshot/types.ts";
import type { Random } from "../fuzz/random.ts";

export interface Configured {
  readonly snapshot: Snapshot;
  readonly certificates: readonly ServerCertificate[];
}

export const HOSTS = ["*", "*.example.com", "a.example.com", "b.example.com", "c.test", "*.c.test"];

const PATHS: readonly PathMatch[] = [
  { type: "Prefix", value: "/" },
  { type: "Prefix", value: "/api" },
  { type: "Prefix", value: "/api/v1" },
  { type: "Exact", value: "/api" },
  { type: "Exact", value: "/" },
];

const UPSTREAMS = ["a/web:80", "a/api:80", "b/web:http", "b/web:80"];

const ENDPOINTS: readonly Endpoint[] = Array.from(
  { length: 5 },
  (_, i) => ({ address: `10.0.0.${i + 1}`, port: 8080 }),
);

const CERTIFICATES = ["one", "two", "three"];

/** `count` configurations, each made from the one before by a few changes. */
export function* randomConfigurations(random: Random, count: number): Generator<Configured> {
  const upstreams = new Map<string, readonly Endpoint[]>();
  const routes = new Map<string, Route>();
  const certificates = new Map<string, readonly string[]>();
  let defaultCertificate: string | null = null;
  let defaultAction: Action | null = null;
  for (let made = 0; made < count; made++) {
    for (let change = random.between(0, 6); change > 0; change--) {
      switch (random.below(5)) {
        case 0:
          upstreams.set(random.pick(UPSTREAMS), ENDPOINTS.filter(() => random.oneIn(2)));
          break;
        case 1: {
          const host = random.pick(HOSTS);
          const path = random.pick(PATHS);
          const id = `${host} ${path.type} ${path.value}`;
          if (random.oneIn(3)) routes.delete(id);
          else routes.set(id, toRoute(id, host, path, actionAmong(random, upstreams)));
          break;
        }
        case 2: {
          const id = random.pick(CERTIFICATES);
          const hosts = HOSTS.slice(1).filter(() => random.oneIn(3));
          if (hosts.length === 0) certificates.delete(id);
          else certificates.set(id, hosts);
          break;
        }
        case 3:
          defaultAction = random.oneIn(3) ? null : actionAmong(random, upstreams);
          break;
        case 4: {
          // What is removed is named by nothing any more.
          const id = random.pick(UPSTREAMS);
          const isNamed = (action: Action | null) => upstreamsOf(action).includes(id);
          for (const route of [...routes.values()]) {
            if (isNamed(route.action)) routes.delete(route.id);
          }
          if (isNamed(defaultAction)) defaultAction = null;
          upstreams.delete(id);
        }
      }
      const ids = [...certificates.keys()];
      if (random.oneIn(3)) defaultCertificate = ids.length === 0 ? null : random.pick(ids);
      if (!ids.includes(defaultCertificate!)) defaultCertificate = null;
    }
    yield {
      snapshot: {
        format: SNAPSHOT_FORMAT,
        version: { epoch: "file", seen: { Ingress: String(made) } },
        routes: [...routes.values()].sort((a, b) => a.id < b.id ? -1 : 1),
        defaultAction,
        upstreams: [...upstreams].map(toUpstream).sort((a, b) => a.id < b.id ? -1 : 1),
        certificates: [],
        defaultCertificate,
        ...(made % 4 === 0 ? {} : { loopMark: `pingress-${made % 3}` }),
        ...(made % 3 === 0 ? {} : { denied: ["10.96.0.0/12", `192.0.2.${made % 5}`] }),
        ...(made % 4 === 1 ? {} : { trustedProxies: [`10.${made % 3}.0.0/16`, "2001:db8::1"] }),
        ...(made % 3 === 1 ? {} : {
          blockedClients: {
            networks: [`10.${made % 4}.0.0/16`],
            userAgents: [{ type: "Exact", value: `bot ${made % 2}` }],
          },
        }),
        ...(made % 5 === 0 ? {} : {
          globalConfig: {
            configMap: "ingress-nginx/nginx",
            values: { "proxy-body-size": `${made % 7}m` },
            unsupported: made % 2 === 0 ? [] : ["server-snippet"],
            invalid: [],
          },
        }),
      },
      certificates: [...certificates].map(toCertificate).sort((a, b) => a.id < b.id ? -1 : 1),
    };
  }
}

function actionAmong(random: Random, upstreams: ReadonlyMap<string, unknown>): Action {
  const ids = [...upstreams.keys()];
  return ids.length === 0 || random.oneIn(6)
    ? { kind: "reply", status: random.pick([404, 500, 503]), reason: "the Service is missing" }
    : { kind: "forward", backends: [{ upstream: random.pick(ids) }] };
}

function toRoute(id: string, host: string, path: PathMatch, action: Action): Route {
  const origin = { kind: "Ingress", namespace: "a", name: "web", field: "spec.rules[0]" };
  return { id, host, match: { path }, action, origin };
}

function toUpstream([id, endpoints]: [string, readonly Endpoint[]]): Upstream {
  return { id, protocol: "http", addresses: { kind: "endpoints", endpoints } };
}

/** No handshake is made with it: only its names count. */
function toCertificate([id, hosts]: [string, readonly string[]]): ServerCertificate {
  return { id, hosts, chain: `chain of ${id}`, key: new Redacted(`key of ${id}`) };
}
