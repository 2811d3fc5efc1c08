/**
 * What `deno task dev` may listen on and dial. In: what the command line asks for. Out: whether Deno
 * allows it. The task's own permissions reach loopback addresses only; at a terminal Deno asks,
 * elsewhere it refuses.
 */
import { formatAddress } from "../shared/net/address.ts";
import type { DevOptions } from "./options.ts";
import { START_WITH_NETWORK, WITHOUT_DENO } from "./start_command.ts";

/** Null where everything is allowed, else one line with the remedy. */
export async function requestRights(options: DevOptions): Promise<string | null> {
  const { listenHttp, listenHttps, admin } = options;
  for (
    const [flag, address] of [
      ...listenHttp.map((address) => ["--listen-http", address] as const),
      ...listenHttps.map((address) => ["--listen-https", address] as const),
      ["--admin", admin] as const,
    ]
  ) {
    const host = formatAddress(address);
    // Asked for beforehand: a listener of node:net that lacks the right ends the process.
    if (!await isGranted({ name: "net", host })) return missingRight(`listen on ${host} (${flag})`);
  }
  for (const { text, target } of options.plan.mappings) {
    for (const { address, port } of target.endpoints) {
      const host = formatAddress({ hostname: address, port });
      if (!await isGranted({ name: "net", host })) {
        return missingRight(`dial ${host} (--map ${text})`);
      }
    }
  }
  if (options.plan.allowExternalName && !await isGranted({ name: "net" })) {
    return missingRight("dial whatever a Service names (--allow-external-name)");
  }
  return null;
}

async function isGranted(right: Deno.PermissionDescriptor): Promise<boolean> {
  return (await Deno.permissions.request(right)).state === "granted";
}

/** `what` is a verb with its object. */
function missingRight(what: string): string {
  return `Cannot ${what}: the task may use addresses of this machine only; start it with ` +
    `${START_WITH_NETWORK} and the same arguments${WITHOUT_DENO}`;
}
