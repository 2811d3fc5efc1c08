/**
 * How a source wants the backends that it names to be spoken to, whatever their Services say. In:
 * nothing. Out: the type, and the key by which such an upstream is told from the Service's own.
 */
import type { Upstream, UpstreamTls } from "../../../shared/snapshot/types.ts";
import { sha256Of } from "../../../shared/snapshot/published_set.ts";

export interface BackendWish {
  /** Null: as the Service says. */
  readonly protocol: Upstream["protocol"] | null;
  /** Where the source says so; for problems. */
  readonly protocolField: string;
  /** Null: as the Service says, or unverified where it says nothing. */
  readonly tls: TlsWish | null;
}

/** Settings of TLS in place of the Service's own. */
export interface TlsWish {
  /** With the authorities, and the certificate that is shown; null for public ones, and none. */
  readonly secret: { readonly namespace: string; readonly name: string } | null;
  /** Null for the Service's name in the cluster. */
  readonly serverName: string | null;
  readonly sni: boolean;
  readonly verify: boolean;
  /** Null for any. */
  readonly verifyDepth: number | null;
  readonly version: UpstreamTls["version"] | null;
  /** Where the source says whether it is verified, and where the first of these settings; for problems. */
  readonly verifyField: string;
  readonly field: string;
}

/** Follows the port in the id of the upstream; no port has a plus sign. */
export function wishKey({ protocol, tls }: BackendWish): string {
  const hash = tls === null ? "" : `+${sha256Of(JSON.stringify(tls)).slice(0, 12)}`;
  return `${protocol === null ? "" : `+${protocol}`}${hash}`;
}
