/**
 * Ids of listeners: those of the proxy's own ports, and `<namespace>/<gateway>/<listener>` for those of
 * Gateways; one that shares a port of the proxy with Ingresses ends in `@http` or `@https`. In: the parts,
 * or an id. Out: the id, or its parts. Pure.
 */

/** The listeners that every proxy has. Routes that name no listener are on these. */
export const BUILT_IN_LISTENERS: ReadonlySet<string> = new Set(["http", "https"]);

/** Whether a route is on a listener of Ingresses. @param listeners Those that it names, if it names any. */
export function isOfIngresses(listeners: readonly string[] | undefined): boolean {
  return listeners === undefined || listeners.some((id) => BUILT_IN_LISTENERS.has(id));
}

/** A socket that Ingresses have, and that listeners of Gateways may share with them. */
export type SharedSocket = "http" | "https";

export const SHARED_SOCKETS: readonly SharedSocket[] = ["http", "https"];

/**
 * In place of the id of a listener: a route is for all requests to Gateways that share the socket, as no
 * listener has its host there.
 */
export const ALL_SHARING = {
  http: "@http",
  https: "@https",
} as const satisfies Record<SharedSocket, string>;

/** What a route may name that is no listener of the snapshot. */
export const KNOWN_LISTENERS: ReadonlySet<string> = new Set([
  ...BUILT_IN_LISTENERS,
  ...Object.values(ALL_SHARING),
]);

/** @param gateway `namespace/name`. */
export function listenerId(gateway: string, name: string): string {
  return `${gateway}/${name}`;
}

/**
 * Another id than that of the same listener with an address of its own, or on the other socket: its routes
 * then are others, too, and are placed anew.
 *
 * @param gateway `namespace/name`.
 */
export function sharedListenerId(gateway: string, name: string, socket: SharedSocket): string {
  return `${listenerId(gateway, name)}@${socket}`;
}

/** The same for a listener wherever its address is: what it would have with one of its own. */
export function unsharedId(id: string): string {
  return listenerId(gatewayOf(id), listenerNameOf(id));
}

/** The socket that a listener of a Gateway shares with Ingresses; null for one that shares none. */
export function sharedSocketOf(id: string): SharedSocket | null {
  return SHARED_SOCKETS.find((socket) => id.endsWith(`@${socket}`)) ?? null;
}

/** By host, the sockets that listeners of Gateways share with Ingresses and have it on. */
export type SharedHostSockets = ReadonlyMap<string, ReadonlySet<SharedSocket>>;

/** `namespace/name`; the empty string for a built-in listener. */
export function gatewayOf(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf("/")));
}

/** In its Gateway. */
export function listenerNameOf(id: string): string {
  const name = id.slice(id.lastIndexOf("/") + 1);
  const socket = sharedSocketOf(name);
  return socket === null ? name : name.slice(0, -socket.length - 1);
}
