/**
 * What the controller may do, made as small as its command line allows. In: options, and where the
 * API server is. Out: the permissions of the thread that does the work, which dials that one server,
 * listens for the admin port, and reads its credentials; nothing else.
 *
 * Deno cannot narrow a running thread: the first one, with the set `controller` of deno.json, starts
 * another with these and drops its own.
 */
import { resolve } from "node:path";
import { type Address, formatAddress } from "../shared/address.ts";

export type Rights = Readonly<Required<Deno.PermissionOptionsObject>>;

export interface RightsNeeded {
  readonly server: URL;
  /** Of credentials. */
  readonly files: readonly string[];
  readonly podTemplate: string | null;
  readonly admin: Address;
}

/** Where the thread's own code is: a worker's files are read with the rights of who starts it. */
const CODE = [import.meta.dirname!, resolve(import.meta.dirname!, "../shared")];

export function workerRights({ server, files, podTemplate, admin }: RightsNeeded): Rights {
  const port = server.port === "" ? 443 : Number(server.port);
  return {
    net: [
      `${server.hostname}:${port}`,
      // Which port stands for 0 is not known yet: any of that address.
      admin.port === 0
        ? formatAddress({ ...admin, port: 1 }).replace(/:1$/, "")
        : formatAddress(admin),
    ],
    read: [
      ...files.map((file) => resolve(file)),
      ...(podTemplate === null ? [] : [resolve(podTemplate)]),
      ...CODE,
    ],
    write: false,
    run: false,
    env: false,
    ffi: false,
    sys: false,
    import: false,
  };
}

/** What is missing of `rights` in this thread, as the flag that gives it; null where nothing is. */
export function missingRight(rights: Rights): string | null {
  for (const host of rights.net as string[]) {
    if (!isGranted({ name: "net", host })) return `--allow-net=${host}`;
  }
  for (const path of rights.read as string[]) {
    if (!isGranted({ name: "read", path })) return `--allow-read=${path}`;
  }
  return null;
}

/** Drops what this thread may read and dial; the worker that it has started keeps its own. */
export function dropRights(): void {
  for (const name of ["read", "net", "env"] as const) Deno.permissions.revokeSync({ name });
}

function isGranted(right: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(right).state === "granted";
}
