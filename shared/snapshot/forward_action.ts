/**
 * Actions that forward. In: ids of upstreams. Out: the action; the upstreams of an action, and the
 * Service of an upstream.
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

/** The Service that an upstream is a port of; null for an id of another form, as in a file. */
export function serviceOf(
  upstream: string,
): { readonly namespace: string; readonly name: string } | null {
  const [, namespace, name] = /^([^/]*)\/([^:]*)/.exec(upstream) ?? [];
  return namespace === undefined ? null : { namespace, name };
}
