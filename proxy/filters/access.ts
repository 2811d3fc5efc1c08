/**
 * Access to a route by the client's address. In: networks, and requests with the address that counts:
 * the one that trusted proxies name, else the connection's. Out: requests that are admitted; others end
 * with 403.
 */
import { NetworkSet } from "../../shared/net/network_set.ts";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { ProxyError } from "../errors.ts";
import type { Filter } from "./filter.ts";

type Access = Extract<FilterSpec, { readonly kind: "access" }>;

/** How many verdicts a route's filters keep: most clients send more than one request. */
const MAX_KEPT = 1024;

/** One for all, as rejected requests may come in floods and a stack costs more than the verdict. */
const FORBIDDEN = new ProxyError("forbidden");

export function access({ deny = [], allow }: Access): Filter {
  const denied = new NetworkSet(deny);
  const allowed = allow === undefined ? null : new NetworkSet(allow);
  const verdicts = new Map<string, boolean>();
  const isAdmitted = (address: string) => {
    let verdict = verdicts.get(address);
    if (verdict === undefined) {
      verdict = !denied.contains(address) && (allowed === null || allowed.contains(address));
      if (verdicts.size >= MAX_KEPT) verdicts.clear();
      verdicts.set(address, verdict);
    }
    return verdict;
  };
  return {
    request: ({ record }) => {
      if (!isAdmitted(record.clientAddress)) throw FORBIDDEN;
      return null;
    },
  };
}
