/**
 * Where a developer's own program stands. In: `127.0.0.1:3000` of an annotation, or
 * `default/web=127.0.0.1:3000` of `--map`. Out: addresses to dial, and for which Service.
 */
import { isIP } from "node:net";
import type { Endpoint } from "../shared/snapshot/types.ts";

/** What `--map NAMESPACE/SERVICE[:PORT]=HOST:PORT` says. */
export interface ServiceMapping {
  readonly namespace: string;
  readonly name: string;
  /** Number or name of one port of the Service; null for all of them. */
  readonly port: string | null;
  readonly target: Target;
  /** As it was given, for messages. */
  readonly text: string;
}

/** A program on this machine. */
export interface Target {
  /** `127.0.0.1:3000`, for people. */
  readonly text: string;
  /** More than one where a name has more than one address. */
  readonly endpoints: readonly Endpoint[];
}

/**
 * `127.0.0.1:3000`, `[::1]:3000` or `localhost:3000` (both of its addresses, since programs that
 * listen on "localhost" take either); null where the text is none of them.
 */
export function parseTarget(text: string): Target | null {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text.trim());
  if (match === null) return null;
  const host = match[1] ?? match[2];
  const port = Number(match[3]);
  if (port < 1 || port > 65535) return null;
  if (host === "localhost") {
    const endpoints = ["127.0.0.1", "::1"].map((address) => ({ address, port }));
    return { text: text.trim(), endpoints };
  }
  if (isIP(host) !== (match[1] === undefined ? 4 : 6)) return null;
  return { text: text.trim(), endpoints: [{ address: host, port }] };
}

/** The mapping, or what is wrong with the text. */
export function parseServiceMapping(text: string): ServiceMapping | string {
  const match = /^([^/:=]+)\/([^/:=]+)(?::([^/:=]+))?=(.+)$/.exec(text);
  if (match === null) {
    const [, service, host, port] = /^([^/:=]+)=(?:([^=]*):)?(\d{1,5})$/.exec(text) ?? [];
    const meant = service === undefined
      ? ""
      : `, such as default/${service}=${host || "127.0.0.1"}:${port}`;
    return `of the form NAMESPACE/SERVICE=HOST:PORT${meant}`;
  }
  const target = parseTarget(match[4]);
  if (target === null) {
    const meant = /^\d{1,5}$/.test(match[4])
      ? `, such as ${text.slice(0, -match[4].length)}127.0.0.1:${match[4]}`
      : "";
    return `a mapping to an IP address (or localhost) and a port${meant}`;
  }
  return { namespace: match[1], name: match[2], port: match[3] ?? null, target, text };
}

/** Whether only this machine can be reached by the address. */
export function isLoopback(address: string): boolean {
  return (isIP(address) === 4 && address.startsWith("127.")) || address === "::1";
}
