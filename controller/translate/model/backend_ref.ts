/**
 * The backend that a source names. In: nothing. Out: a Service and its port, or the local reply that
 * requests get because there is no such thing.
 */
import type { ReplyAction } from "../../../shared/snapshot/types.ts";
import { type BackendWish, wishKey } from "./backend_wish.ts";

export type BackendRef =
  | {
    readonly kind: "service";
    readonly namespace: string;
    readonly name: string;
    /** Its number, its name, or `FIRST_PORT`. */
    readonly port: number | string;
    /** Of the upstream that it becomes, unless the Service says itself what is wished. */
    readonly id: string;
    /** Null: as the Service says. */
    readonly wish: BackendWish | null;
    /** Its upstream has this id, whatever the Service says. */
    readonly keepsId?: true;
    /** `name` is a name in the DNS, or an address, in place of a Service. */
    readonly isName?: true;
    /** The operator names it, so that proxies may resolve it. */
    readonly isTrusted?: true;
    /** Fields of the Service's name and port, for problems with them. */
    readonly nameField: string;
    readonly portField: string;
  }
  | { readonly kind: "broken"; readonly action: ReplyAction };

export type ServiceBackend = Extract<BackendRef, { readonly kind: "service" }>;

/** Whichever port a Service has first; no port has that name. */
export const FIRST_PORT = "*";

/** See `Upstream.id`. */
export function upstreamId(
  namespace: string,
  name: string,
  port: number | string,
  wish: BackendWish | null = null,
): string {
  return `${namespace}/${name}:${port}${wish === null ? "" : wishKey(wish)}`;
}

/** The port of a Service that an upstream is of; null for any other id. */
export function serviceOf(
  upstream: string,
): { readonly namespace: string; readonly name: string; readonly port: number } | null {
  const [, namespace, name, port] = /^([^/]+)\/([^:]+):(\d+)$/.exec(upstream) ?? [];
  return port === undefined ? null : { namespace, name, port: Number(port) };
}
