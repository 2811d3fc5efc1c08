/**
 * Every code that Pingress reports. In: the tables of the controller, of manifests and of the proxy.
 * Out: one list by section, for `pingress codes` and `docs/codes.md`.
 */
import { GATEWAY_REASONS } from "../../controller/problems/gateway/reasons.ts";
import { REASON_SECTIONS } from "../../controller/problems/reasons.ts";
import { REMEDIES } from "../../controller/problems/remedies.ts";
import { BROKEN, NEEDLESS } from "../../dev/problems/severities.ts";
import { ERROR_KINDS, type ErrorCode, type Side } from "../../shared/error_kinds.ts";
import { ERROR_REMEDIES } from "../../shared/error_remedies.ts";
import { BACKEND_EXAMPLES } from "./examples/backends.ts";
import { CERTIFICATE_EXAMPLES } from "./examples/certificates.ts";
import { GATEWAY_EXAMPLES } from "./examples/gateway.ts";
import { INGRESS_EXAMPLES } from "./examples/ingress.ts";
import { MANIFEST_EXAMPLES } from "./examples/manifests.ts";
import { PROXY_EXAMPLES } from "./examples/proxies.ts";
import { MANIFEST_REASONS } from "./manifest_reasons.ts";

export interface Code {
  readonly code: string;
  /** Title of its section. */
  readonly section: string;
  /** Kinds of the objects that have it; none for a response of a proxy. */
  readonly kinds: readonly string[];
  /** Of the problem; none for a response of a proxy. */
  readonly severities: readonly string[];
  /** Of `dev`, `explain` and `diff`, where it is another one; null where it is not. */
  readonly severityInFiles: string | null;
  /** Of the response of a proxy; null for a problem, and where no client is left to get one. */
  readonly status: number | null;
  /** Whose doing it is that a proxy responds itself; null for a problem. */
  readonly side: Side | null;
  /** A sentence, in Markdown with links relative to docs/. */
  readonly meaning: string;
  /** YAML with the mistake, or a situation in a sentence; null for a response of a proxy. */
  readonly example: string | null;
  /** A sentence or two. */
  readonly remedy: string;
}

const GATEWAY_SECTION = "Gateway API";
const MANIFEST_SECTION = "Manifests in files";
const REPLY_SECTION = "Responses of proxies";

/** By code; every problem has one. */
export const EXAMPLES: ReadonlyMap<string, string> = new Map(
  [
    INGRESS_EXAMPLES,
    BACKEND_EXAMPLES,
    CERTIFICATE_EXAMPLES,
    PROXY_EXAMPLES,
    GATEWAY_EXAMPLES,
    MANIFEST_EXAMPLES,
  ].flatMap((examples) => Object.entries(examples)),
);

/** In the order of the sections. */
export const CODES: readonly Code[] = [
  ...REASON_SECTIONS.flatMap(({ title, reasons }) =>
    reasons.map(({ reason, kinds, severities, meaning }) =>
      problemCode(reason, title, { kinds, severities, meaning, remedy: REMEDIES[reason] })
    )
  ),
  ...GATEWAY_REASONS.map(({ reason, kinds, meaning, remedy }) =>
    problemCode(reason, GATEWAY_SECTION, { kinds, severities: ["error"], meaning, remedy })
  ),
  ...MANIFEST_REASONS.map(({ reason, meaning, remedy }) =>
    problemCode(reason, MANIFEST_SECTION, { kinds: [], severities: [], meaning, remedy })
  ),
  ...Object.entries(ERROR_KINDS).map(([code, { status, side, text }]): Code => ({
    code,
    section: REPLY_SECTION,
    kinds: [],
    severities: [],
    severityInFiles: null,
    status: status === 0 ? null : status,
    side,
    meaning: `${text}.`,
    example: null,
    remedy: ERROR_REMEDIES[code as ErrorCode],
  })),
];

/** Titles of sections with their codes, in order. */
export function codesBySection(codes: readonly Code[]): ReadonlyMap<string, readonly Code[]> {
  return Map.groupBy(codes, ({ section }) => section);
}

/**
 * Where a code stands on the page, as GitHub names its heading: two codes may differ in letter case
 * alone (`HostNameConflict` of an Ingress, `HostnameConflict` of a Gateway).
 */
export function anchorOf({ code }: Code): string {
  const name = code.toLowerCase();
  const same = CODES.filter((other) => other.code.toLowerCase() === name);
  const earlier = same.findIndex((other) => other.code === code);
  return earlier === 0 ? name : `${name}-${earlier}`;
}

function problemCode(
  code: string,
  section: string,
  rest: Pick<Code, "kinds" | "severities" | "meaning" | "remedy">,
): Code {
  return {
    code,
    section,
    severityInFiles: BROKEN.has(code) ? "error" : NEEDLESS.has(code) ? "info" : null,
    status: null,
    side: null,
    ...rest,
    meaning: sentence(rest.meaning),
    example: EXAMPLES.get(code) ?? null,
  };
}

/** Whether an example is a sentence, and not YAML. */
export function isSituation(example: string): boolean {
  return example.endsWith(".");
}

function sentence(clause: string): string {
  return `${clause[0].toUpperCase()}${clause.slice(1)}.`;
}
