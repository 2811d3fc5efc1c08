/**
 * What a service-account token says of itself. In: a token that nobody has checked. Out: its claims as
 * far as they matter here, or null. Nothing is believed for it: it spares the API server what can only
 * be refused, and tells how long the word of the API server holds.
 *
 * RFC 7519; https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
 */
import { MAX_TOKEN } from "../../shared/stream/protocol.ts";

export interface TokenClaims {
  /** `system:serviceaccount:<namespace>:<name>`. */
  readonly subject: string;
  readonly audiences: readonly string[];
  /** In ms since the epoch; null for one that never expires. */
  readonly expiresAt: number | null;
}

const SHAPE = /^[\w-]+\.([\w-]+)\.[\w-]+$/;

export function readClaims(token: string): TokenClaims | null {
  const payload = token.length > MAX_TOKEN ? null : SHAPE.exec(token);
  if (payload === null) return null;
  let claims: unknown;
  try {
    claims = JSON.parse(atob(payload[1].replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return null;
  }
  if (typeof claims !== "object" || claims === null) return null;
  const { sub, aud, exp } = claims as Readonly<Record<string, unknown>>;
  if (typeof sub !== "string") return null;
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter((one) => typeof one === "string");
  return {
    subject: sub,
    audiences,
    expiresAt: typeof exp === "number" && Number.isFinite(exp) ? exp * 1000 : null,
  };
}
