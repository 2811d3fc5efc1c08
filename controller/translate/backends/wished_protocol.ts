/**
 * What becomes of a source's wish for a backend. In: the protocol that the Service names, whether it has
 * settings of TLS, and the wish. Out: the protocol that is spoken, and whose settings of TLS count.
 */
import type { Upstream } from "../../../shared/snapshot/types.ts";
import { isSecured } from "./backend_plan.ts";
import type { BackendWish, TlsWish } from "../model/backend_wish.ts";
import type { Note } from "./fault.ts";
import { UNUSED_TLS } from "./upstream_tls.ts";

type Protocol = Upstream["protocol"];

export interface WishedProtocol {
  readonly protocol: Protocol;
  /** Null for plain text. */
  readonly tls: TlsWish | "of the Service" | null;
}

/** Where nothing is said, backends are not verified: as in ingress-nginx, and with a problem. */
const UNVERIFIED = { secret: null, serverName: null, sni: false, verify: false } as const;

/**
 * Null where what the Service says counts: it says the same, or that it is spoken to by TLS, which no
 * wish may weaken.
 */
export function wishedProtocol(
  own: Protocol,
  wish: BackendWish,
  hasTlsSettings: boolean,
): WishedProtocol | null {
  const protocol = wish.protocol ?? own;
  if (!isSecured(protocol)) {
    return protocol === own || isSecured(own) ? null : { protocol, tls: null };
  }
  const isOwn = hasTlsSettings || (isSecured(own) && wish.tls === null);
  if (isOwn) return protocol === own ? null : { protocol, tls: "of the Service" };
  const tls = wish.tls ?? {
    ...UNVERIFIED,
    verifyDepth: null,
    version: null,
    verifyField: wish.protocolField,
    field: wish.protocolField,
  };
  // What is verified without the wish stays so, unless the wish names whom to trust.
  const isVerified = isSecured(own) && tls.secret === null;
  return { protocol, tls: isVerified ? { ...tls, verify: true, sni: true } : tls };
}

/** Whether the settings of TLS of the wish count. */
export function isWished(wished: WishedProtocol | null): boolean {
  return wished !== null && wished.tls !== null && wished.tls !== "of the Service";
}

/** Of a wish beside settings of the Service; null where it has none of its own. */
export function overruled({ tls }: BackendWish): Note | null {
  return tls && {
    field: tls.field,
    reason: UNUSED_TLS,
    message: "the annotation has no effect beside pingress.io/upstream-tls-… of the Service",
    remedy: "Remove the annotation",
  };
}
