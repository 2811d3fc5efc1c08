/**
 * What the controller may do, made as small as its command line allows. In: options, and where the
 * API server is. Out: the permissions of the thread that does the work, which dials that one server,
 * listens for the admin port and the stream, and reads its credentials; with Gateway API, it dials the
 * streams of other replicas too; nothing else.
 *
 * Deno cannot narrow a running thread: the first one, with the set `controller` of deno.json, starts
 * another with these and drops its own.
 */
import { resolve } from "node:path";
import type { Address } from "../../shared/net/address.ts";
import { listenAddresses } from "./listen_addresses.ts";
import { listenerGrant, NO_RIGHTS, type Rights } from "../../shared/rights.ts";

/** Both lists are given. */
export type WorkerRights = Rights & { readonly net: string[]; readonly read: string[] };

export interface RightsNeeded {
  readonly server: URL;
  /** Of credentials. */
  readonly files: readonly string[];
  readonly podTemplate: string | null;
  readonly admin: Address;
  readonly stream: Address;
  /** Whether other replicas are told what proxies have acknowledged. */
  readonly relays?: boolean;
}

/** Where the thread's own code is: a worker's files are read with the rights of who starts it. */
const CODE = [resolve(import.meta.dirname!, ".."), resolve(import.meta.dirname!, "../../shared")];

export function workerRights(needed: RightsNeeded): WorkerRights {
  const { server, files, podTemplate, admin, stream, relays = false } = needed;
  const port = server.port === "" ? 443 : Number(server.port);
  return {
    ...NO_RIGHTS,
    net: [
      `${server.hostname}:${port}`,
      listenerGrant(admin),
      ...listenAddresses(stream).map(listenerGrant),
      ...(relays ? [relayGrant(stream)] : []),
    ],
    read: [
      ...files.map((file) => resolve(file)),
      ...(podTemplate === null ? [] : [resolve(podTemplate)]),
      ...CODE,
    ],
  };
}

/**
 * The right to dial the streams of other replicas, whose addresses are not known at the start: the port of
 * the stream on any IPv4 address. Deno 2.9 cannot grant a range of IPv6 addresses. Port 0, of tests, is
 * any port of the address that is listened on.
 */
export function relayGrant(stream: Address): string {
  return stream.port === 0 ? listenerGrant(stream) : `0.0.0.0/0:${stream.port}`;
}
