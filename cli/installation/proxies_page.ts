/** The page `/proxies` of a controller, of this version or another. In: its JSON. Out: its proxies, typed. */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";

export interface ConnectedProxies {
  /** Of the configuration that proxies should have; null where the replica has none yet. */
  readonly hash: string | null;
  readonly proxies: readonly ConnectedProxy[];
}

export interface ConnectedProxy {
  /** Of the pod. */
  readonly name: string;
  readonly node: string | null;
  readonly zone: string | null;
  /** Its Pingress version; null where it does not say. */
  readonly build: string | null;
  readonly isInSync: boolean;
  /** RFC 3339; null where it never was. */
  readonly lastSync: string | null;
  readonly unsentBytes: number;
  readonly hash: string | null;
  /** What it rejects; null for nothing. */
  readonly refused: { readonly code: string; readonly reason: string } | null;
  /** Ports of listeners that it cannot open, each with the reason. */
  readonly obstacles: readonly string[];
}

/** What is missing counts as unknown: the page may be of an older version. */
export function readProxiesPage(page: unknown): ConnectedProxies {
  return {
    hash: asText(fieldOf(page, "hash")),
    proxies: (asList(fieldOf(page, "proxies")) ?? []).flatMap(readProxy),
  };
}

function readProxy(value: unknown): ConnectedProxy[] {
  const name = asText(fieldOf(value, "name"));
  if (name === null) return [];
  const refused = fieldOf(value, "refused");
  const unsent = fieldOf(value, "unsentBytes");
  return [{
    name,
    node: asText(fieldOf(value, "node")),
    zone: asText(fieldOf(value, "zone")),
    build: asText(fieldOf(value, "build")),
    isInSync: fieldOf(value, "inSync") === true,
    lastSync: asText(fieldOf(value, "lastSync")),
    unsentBytes: typeof unsent === "number" ? unsent : 0,
    hash: asText(fieldOf(value, "hash")),
    refused: refused === null || refused === undefined ? null : {
      code: asText(fieldOf(refused, "code")) ?? "unknown",
      reason: asText(fieldOf(refused, "reason")) ?? "no reason given",
    },
    obstacles: (asList(fieldOf(value, "obstacles")) ?? []).flatMap(readObstacle),
  }];
}

function readObstacle(value: unknown): string[] {
  const socket = asText(fieldOf(value, "socket"));
  const reason = asText(fieldOf(value, "reason"));
  return socket === null || reason === null ? [] : [`port ${socket}: ${reason}`];
}

/** Why a proxy is behind, a clause; null for one that is not. */
export function behindBecause(proxy: ConnectedProxy): string | null {
  if (proxy.isInSync) return null;
  if (proxy.refused !== null) {
    return `it rejects the configuration (${proxy.refused.code}): ${proxy.refused.reason}`;
  }
  if (proxy.obstacles.length > 0) return proxy.obstacles.join(", ");
  return proxy.unsentBytes > 0
    ? `${proxy.unsentBytes} bytes wait until it reads`
    : "it has not acknowledged the newest configuration";
}
