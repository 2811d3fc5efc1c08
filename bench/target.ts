/** Where a load goes. In: a running proxy's address and certificate. Out: its URL for a case. */
import { type Address, formatAddress } from "../shared/address.ts";
import { type Case } from "./case.ts";
import { TLS_NAME, type TlsFiles } from "./tls.ts";

export interface Target {
  readonly address: Address;
  /** Null where it speaks plain HTTP. */
  readonly tls: TlsFiles | null;
}

export function urlOf({ address, tls }: Target, { path }: Case): string {
  return tls === null
    ? `http://${formatAddress(address)}${path}`
    : `https://${TLS_NAME}:${address.port}${path}`;
}

/** What programs that use OpenSSL need in their environment. */
export function environmentFor({ tls }: Target): Record<string, string> {
  return tls === null ? {} : { OPENSSL_CONF: tls.clientConfiguration };
}
