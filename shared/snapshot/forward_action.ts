/**
 * Actions that forward. In: ids of upstreams. Out: the action; the upstreams of an action, and the
 * Service or the host of an upstream.
 */
import type { Action, ForwardAction } from "./types.ts";

/** All requests go to one upstream. */
export function forwardTo(upstream: string): ForwardAction {
  return { kind: "forward", backends: [{ upstream }] };
}

const NONE: readonly string[] = [];

/** Ids of the upstreams that requests may go to, in the order of the backends. */
export function upstreamsOf(action: Action | null): readonly string[] {
  return action?.kind === "forward"
    ? action.backends.flatMap(({ upstream, fault }) => fault === undefined ? upstream : [])
    : NONE;
}

export interface BackendName {
  /** "" for what is no Service. */
  readonly namespace: string;
  readonly name: string;
}

const SERVICE = /^([^/]+)\/([^/:]+)(?::|$)/;
/** `//login.example.com:443+https+auth`: external authentication outside of the cluster. */
const HOST = /^\/\/([^/]+):\d/;

/** The Service that an upstream is a port of; null for an id of another form, as in a file. */
export function serviceOf(upstream: string): BackendName | null {
  const [, namespace, name] = SERVICE.exec(upstream) ?? [];
  return namespace === undefined ? null : { namespace, name };
}

/** The Service of an upstream, or the host outside of the cluster; of any other form, its id is the name. */
export function backendNameOf(upstream: string): BackendName {
  return serviceOf(upstream) ?? { namespace: "", name: HOST.exec(upstream)?.[1] ?? upstream };
}
