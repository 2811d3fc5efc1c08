/**
 * Ids of listeners: those of the proxy's own ports, and `<namespace>/<gateway>/<listener>` for those of
 * Gateways. In: the parts, or an id. Out: the id, or its parts. Pure.
 */

/** The listeners that every proxy has. Routes that name no listener are on these. */
export const BUILT_IN_LISTENERS: ReadonlySet<string> = new Set(["http", "https"]);

/** @param gateway `namespace/name`. */
export function listenerId(gateway: string, name: string): string {
  return `${gateway}/${name}`;
}

/** `namespace/name`; the empty string for a built-in listener. */
export function gatewayOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf("/")));
}

/** In its Gateway. */
export function listenerNameOf(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}
