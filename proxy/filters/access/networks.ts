/**
 * Access by the client's address. In: networks, and requests with the address that counts: the one
 * that trusted proxies name, else the connection's. Out: verdicts. As in nginx, a denylist comes first,
 * and rejects without ever admitting: with `satisfy any`, not being on it is no credential.
 *
 * https://nginx.org/en/docs/http/ngx_http_access_module.html
 */
import { NetworkSet } from "../../../shared/net/network_set.ts";
import { ProxyError } from "../../errors.ts";
import { ABSTAINED, type AccessCheck, type Verdict } from "./check.ts";

/** How many verdicts a route's filters keep: most clients send more than one request. */
const MAX_KEPT = 1024;

/** One for all, as rejected requests may come in floods and a stack costs more than the verdict. */
const FORBIDDEN = new ProxyError("forbidden");

export function networksCheck(
  deny: readonly string[],
  allow: readonly string[] | undefined,
): AccessCheck {
  const denied = new NetworkSet(deny);
  const allowed = allow === undefined ? null : new NetworkSet(allow);
  const verdicts = new Map<string, Verdict>();
  const verdictOn = (address: string): Verdict => {
    if (denied.contains(address)) return FORBIDDEN;
    if (allowed === null) return ABSTAINED;
    return allowed.contains(address) ? null : FORBIDDEN;
  };
  return {
    check: ({ record: { clientAddress } }) => {
      let verdict = verdicts.get(clientAddress);
      if (verdict === undefined) {
        verdict = verdictOn(clientAddress);
        if (verdicts.size >= MAX_KEPT) verdicts.clear();
        verdicts.set(clientAddress, verdict);
      }
      return verdict;
    },
  };
}
