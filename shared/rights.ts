/**
 * Permissions of threads. In: what a thread needs. Out: whether this one has it to give, and this one
 * without its own. Deno cannot narrow a running thread: a first one starts another with less, and
 * drops its rights.
 */
import { type Address, formatAddress } from "./net/address.ts";

/** The rights of one thread: each kind by name. */
export type Rights = Readonly<Required<Deno.PermissionOptionsObject>>;

/** What every thread begins with that is to get more. */
export const NO_RIGHTS: Rights = {
  net: false,
  read: false,
  write: false,
  run: false,
  env: false,
  ffi: false,
  sys: false,
  import: false,
};

/** The right to listen there. Which port stands for 0 is not known yet: any of that address. */
export function listenerGrant(address: Address): string {
  return address.port === 0
    ? formatAddress({ ...address, port: 1 }).replace(/:1$/, "")
    : formatAddress(address);
}

/** What this thread lacks of these, as the flag that gives it; null where nothing is missing. */
export function missingRight(
  { net = [], read = [] }: { readonly net?: readonly string[]; readonly read?: readonly string[] },
): string | null {
  const host = net.find((host) => !isGranted({ name: "net", host }));
  if (host !== undefined) return `--allow-net=${host}`;
  const path = read.find((path) => !isGranted({ name: "read", path }));
  return path === undefined ? null : `--allow-read=${path}`;
}

/** Drops rights of this thread; workers that it has started keep theirs. */
export function dropRights(names: readonly ("read" | "net" | "env" | "run")[]): void {
  for (const name of names) Deno.permissions.revokeSync({ name });
}

export function isGranted(right: Deno.PermissionDescriptor): boolean {
  return Deno.permissions.querySync(right).state === "granted";
}
