/**
 * What `deno task dev` may dial. In: what the command line asks for beyond this machine. Out:
 * whether Deno allows it. The task's own permissions reach loopback addresses only; at a terminal
 * Deno asks, elsewhere it refuses.
 */
import type { PlanOptions } from "./plan.ts";
import { isLoopback } from "./service_mapping.ts";
import { formatAddress } from "../shared/address.ts";

/** Null where everything is allowed, else one line with the remedy. */
export async function requestRights(options: PlanOptions): Promise<string | null> {
  for (const { text, target } of options.mappings) {
    for (const { address, port } of target.endpoints) {
      if (isLoopback(address)) continue;
      const host = formatAddress({ hostname: address, port });
      if (!await isGranted({ name: "net", host })) {
        return describeMissingRight(`dial ${host} (--map ${text})`);
      }
    }
  }
  if (options.allowExternalName && !await isGranted({ name: "net" })) {
    return describeMissingRight("dial whatever a Service names (--allow-external-name)");
  }
  return null;
}

async function isGranted(right: Deno.PermissionDescriptor): Promise<boolean> {
  return (await Deno.permissions.request(right)).state === "granted";
}

/** `what` is a verb with its object. */
export function describeMissingRight(what: string): string {
  return `Cannot ${what}: the task may use addresses of this machine only; start it with ` +
    "deno run -P=dev --allow-net dev/main.ts and the same arguments";
}
