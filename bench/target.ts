/** Where a load goes. In: a running proxy's address and certificate. Out: its URL for a case. */
import { formatAddress } from "../shared/net/address.ts";
import { TLS_NAME } from "./tls.ts";
import type { Case, Target } from "./model.ts";

export function urlOf({ address, tls }: Target, { path }: Case): string {
  return tls === null
    ? `http://${formatAddress(address)}${path}`
    : `https://${TLS_NAME}:${address.port}${path}`;
}

/** What programs that use OpenSSL need in their environment. */
export function environmentFor({ tls }: Target): Record<string, string> {
  return tls === null ? {} : { OPENSSL_CONF: tls.clientConfiguration };
}
