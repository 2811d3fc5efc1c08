/**
 * Recorded claims to hosts. In: the text of a claims document. Out: for each host the namespaces that
 * claim it, the owner first, or why the document cannot be used; and the text for claims. Pure.
 */
import { asList, asText, fieldOf } from "../../base/json.ts";
import { isDnsLabel } from "../../base/names.ts";
import { parseHostPattern } from "../../../shared/host/host_pattern.ts";
import { compareText } from "../../base/text_order.ts";

/** The claim of one namespace to one host. */
export interface RecordedClaim {
  readonly namespace: string;
  /** RFC 3339; when the claim was first seen. */
  readonly since: string;
  /** Whether the host was served by several namespaces when claims were first recorded. */
  readonly shared?: true;
}

/** By host pattern; in the order of the claims, so that the owner comes first. */
export type HostClaims = ReadonlyMap<string, readonly RecordedClaim[]>;

/** Raised when an older reader would misunderstand the document. */
export const CLAIMS_VERSION = 1;

export type ClaimsReading =
  | { readonly ok: true; readonly claims: HostClaims }
  /** A clause such as `it is not JSON`. */
  | { readonly ok: false; readonly reason: string };

/** Never throws. A host or claim that cannot be read is left out; others stay. */
export function parseClaims(text: string): ClaimsReading {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return { ok: false, reason: "it is not JSON" };
  }
  const version = fieldOf(document, "version");
  if (version !== CLAIMS_VERSION) {
    return { ok: false, reason: `its version is not ${CLAIMS_VERSION}` };
  }
  const hosts = asList(fieldOf(document, "hosts"));
  if (hosts === null) return { ok: false, reason: "it has no list of hosts" };
  const claims = new Map<string, readonly RecordedClaim[]>();
  for (const entry of hosts) {
    const host = asText(fieldOf(entry, "host"));
    if (host === null || !isPattern(host)) continue;
    const list = (asList(fieldOf(entry, "claims")) ?? []).flatMap(readClaim);
    if (list.length > 0) claims.set(host, list);
  }
  return { ok: true, claims };
}

function isPattern(host: string): boolean {
  const pattern = parseHostPattern(host);
  return pattern.ok && pattern.host === host && host !== "*";
}

function readClaim(value: unknown): readonly RecordedClaim[] {
  const namespace = asText(fieldOf(value, "namespace"));
  const since = asText(fieldOf(value, "since"));
  if (namespace === null || !isDnsLabel(namespace) || since === null) return [];
  const isShared = fieldOf(value, "shared") === true;
  return [isShared ? { namespace, since, shared: true } : { namespace, since }];
}

/** JSON, one host a line, sorted: the same claims give the same bytes. */
export function claimsText(claims: HostClaims): string {
  const lines = [...claims]
    .sort(([a], [b]) => compareText(a, b))
    .map(([host, list]) =>
      JSON.stringify({
        host,
        claims: list.map(({ namespace, since, shared }) => ({ namespace, since, shared })),
      })
    );
  const list = lines.length === 0 ? "" : `\n${lines.join(",\n")}\n`;
  return `{"version":${CLAIMS_VERSION},"hosts":[${list}]}`;
}

export function isSameClaims(a: HostClaims, b: HostClaims): boolean {
  if (a === b) return true;
  if (a.size !== b.size) return false;
  // Mostly a copy, in the same order: to look all hosts up costs several times as much.
  const others = b.entries();
  for (const [host, list] of a) {
    const [otherHost, inStep] = others.next().value!;
    const other = otherHost === host ? inStep : b.get(host);
    if (other === undefined || !isSameClaimList(list, other)) return false;
  }
  return true;
}

export function isSameClaimList(
  a: readonly RecordedClaim[],
  b: readonly RecordedClaim[],
): boolean {
  return a === b || (a.length === b.length && a.every(({ namespace, since, shared }, i) => {
    const other = b[i];
    return namespace === other.namespace && since === other.since && shared === other.shared;
  }));
}
