/** Where an upstream's requests go on this machine. In: a plan and the upstream. Out: a few words. */
import { formatAddress } from "../shared/net/address.ts";
import type { Plan } from "./plan.ts";

/** `sample backend`, `127.0.0.1:3000 (--map)`, or addresses from the manifests. */
export function describeUpstream(plan: Plan, id: string): string {
  const addresses = plan.snapshot.upstreams.find((upstream) => upstream.id === id)?.addresses;
  if (addresses === undefined) return "nothing";
  if (addresses.kind === "dns") return `${addresses.name}:${addresses.port}`;
  if (addresses.endpoints.length === 0) return "nothing ready (503)";
  // Of the Service's port, however it is spoken to.
  const standIn = plan.standIns.get(id.split("+", 1)[0]);
  if (standIn !== undefined) return standIn.text;
  const [first, ...more] = addresses.endpoints;
  const text = formatAddress({ hostname: first.address, port: first.port });
  return more.length === 0 ? text : `${text} and ${more.length} more`;
}
