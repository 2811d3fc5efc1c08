/**
 * Filters of rules. In: `filters` of a rule, of unknown shape. Out: the filters of a snapshot, and the
 * redirect as far as it does not depend on the listener; or why requests of the rule get 500. A filter
 * that is not known may protect, so its rule must not be served without it.
 *
 * https://gateway-api.sigs.k8s.io/reference/spec/#httproutefilter
 */
import { changeableHeader, headerValue } from "../../../../shared/snapshot/leaves.ts";
import type { FilterSpec, PathMatch } from "../../../../shared/snapshot/types.ts";
import {
  asList,
  asPort,
  asText,
  fieldOf,
  isAbsent,
  quote,
  unknownField,
} from "../../../base/json.ts";
import { readHostname } from "./hostname.ts";

export interface RuleFilters {
  /** In the order of the rule, without the redirect. */
  readonly filters: readonly FilterSpec[];
  readonly redirect: RedirectModel | null;
}

export interface RedirectModel {
  readonly status: RedirectStatus;
  /** Null for that of the listener. */
  readonly scheme: "http" | "https" | null;
  /** Null for the requested one. */
  readonly host: string | null;
  /** Null for that of the scheme, or of the listener where no scheme is named. */
  readonly port: number | null;
  readonly path: PathChange | null;
}

export interface PathChange {
  readonly type: "ReplaceFullPath" | "ReplacePrefixMatch";
  readonly value: string;
}

type Redirect = Extract<FilterSpec, { readonly kind: "request-redirect" }>;
type RedirectStatus = Redirect["status"];
type HeaderChange = Omit<Extract<FilterSpec, { readonly kind: "request-headers" }>, "kind">;

/** A clause that begins with the field says what is wrong. */
type Reading<T> = { readonly ok: true; readonly value: T } | {
  readonly ok: false;
  readonly reason: string;
};

const MODIFIER_FIELDS: ReadonlySet<string> = new Set(["type", "requestHeaderModifier"]);
const REDIRECT_FIELDS: ReadonlySet<string> = new Set(["type", "requestRedirect"]);

export function readRuleFilters(value: unknown, field: string): Reading<RuleFilters> {
  const filters: FilterSpec[] = [];
  let redirect: RedirectModel | null = null;
  for (const [i, filter] of (asList(value) ?? []).entries()) {
    const at = `${field}[${i}]`;
    const type = fieldOf(filter, "type");
    switch (type) {
      case "RequestHeaderModifier": {
        const change = readHeaderChange(
          fieldOf(filter, "requestHeaderModifier"),
          `${at}.requestHeaderModifier`,
        );
        if (!change.ok) return change;
        const unknown = unknownField(filter, MODIFIER_FIELDS);
        if (unknown !== null) return unsupported(at, unknown);
        filters.push({ kind: "request-headers", ...change.value });
        break;
      }
      case "RequestRedirect": {
        const read = readRedirect(fieldOf(filter, "requestRedirect"), `${at}.requestRedirect`);
        if (!read.ok) return read;
        const unknown = unknownField(filter, REDIRECT_FIELDS);
        if (unknown !== null) return unsupported(at, unknown);
        redirect ??= read.value;
        break;
      }
      default:
        return refused(`${at}.type ${quote(type)} is not supported`);
    }
  }
  return { ok: true, value: { filters, redirect } };
}

/** No filter of a backend is served. */
export function backendFiltersFault(value: unknown, field: string): string | null {
  const [first] = asList(value) ?? [];
  return first === undefined
    ? null
    : `${field}[0].type ${quote(fieldOf(first, "type"))} is not supported`;
}

const CHANGE_FIELDS: ReadonlySet<string> = new Set(["set", "add", "remove"]);
const LINE_FIELDS: ReadonlySet<string> = new Set(["name", "value"]);

function readHeaderChange(value: unknown, field: string): Reading<HeaderChange> {
  const unknown = unknownField(value, CHANGE_FIELDS);
  if (unknown !== null) return unsupported(field, unknown);
  const change: { -readonly [K in keyof HeaderChange]: HeaderChange[K] } = {};
  for (const list of ["set", "add"] as const) {
    // Of names that differ only in case the first counts, as the API specifies.
    const lines = new Map<string, { readonly name: string; readonly value: string }>();
    for (const [i, line] of (asList(fieldOf(value, list)) ?? []).entries()) {
      const at = `${field}.${list}[${i}]`;
      const unknown = unknownField(line, LINE_FIELDS);
      if (unknown !== null) return unsupported(at, unknown);
      const name = changeableHeader.read(asText(fieldOf(line, "name")) ?? "");
      if (!name.ok) return refused(`${at}.name ${name.message}`);
      const written = fieldOf(line, "value");
      const content = headerValue.read(typeof written === "string" ? written : "");
      if (!content.ok) return refused(`${at}.value ${content.message}`);
      if (lines.has(name.value)) continue;
      lines.set(name.value, { name: name.value, value: content.value });
    }
    if (lines.size > 0) change[list] = [...lines.values()];
  }
  const removed: string[] = [];
  for (const [i, written] of (asList(fieldOf(value, "remove")) ?? []).entries()) {
    const name = changeableHeader.read(asText(written) ?? "");
    if (!name.ok) return refused(`${field}.remove[${i}] ${name.message}`);
    removed.push(name.value);
  }
  if (removed.length > 0) change.remove = removed;
  return { ok: true, value: change };
}

const STATUSES: ReadonlySet<unknown> = new Set<RedirectStatus>([301, 302, 303, 307, 308]);

const TARGET_FIELDS: ReadonlySet<string> = new Set([
  ...["scheme", "hostname", "path", "port", "statusCode"],
]);

function readRedirect(value: unknown, field: string): Reading<RedirectModel> {
  const unknown = unknownField(value, TARGET_FIELDS);
  if (unknown !== null) return unsupported(field, unknown);
  const status = fieldOf(value, "statusCode") ?? 302;
  if (!STATUSES.has(status)) {
    return refused(`${field}.statusCode ${quote(status)} is not supported`);
  }
  const scheme = fieldOf(value, "scheme") ?? null;
  if (scheme !== null && scheme !== "http" && scheme !== "https") {
    return refused(`${field}.scheme ${quote(scheme)} is not supported`);
  }
  const hostname = fieldOf(value, "hostname");
  const host = isAbsent(hostname) ? null : readHostname(hostname);
  if (!isAbsent(hostname) && (host === null || host.startsWith("*"))) {
    return refused(`${field}.hostname ${quote(hostname)} is no name of a host`);
  }
  const written = fieldOf(value, "port");
  const port = isAbsent(written) ? null : asPort(written);
  if (port === null && !isAbsent(written)) {
    return refused(`${field}.port ${quote(written)} is no port`);
  }
  const path = readPathChange(fieldOf(value, "path"), `${field}.path`);
  if (!path.ok) return path;
  return {
    ok: true,
    value: { status: status as RedirectStatus, scheme, host, port, path: path.value },
  };
}

/** Fields that hold the new path, by type. */
const PATH_FIELDS = {
  ReplaceFullPath: "replaceFullPath",
  ReplacePrefixMatch: "replacePrefixMatch",
} as const;

const CHANGED_PATH_FIELDS: ReadonlySet<string> = new Set(["type", ...Object.values(PATH_FIELDS)]);

/** Visible ASCII without `?` and `#`: the query of the request follows. */
const PATH = /^(?:\/[!"$->@-~]*)?$/;

function readPathChange(value: unknown, field: string): Reading<PathChange | null> {
  if (isAbsent(value)) return { ok: true, value: null };
  const type = fieldOf(value, "type");
  if (type !== "ReplaceFullPath" && type !== "ReplacePrefixMatch") {
    return refused(`${field}.type ${quote(type)} is not supported`);
  }
  const name = PATH_FIELDS[type];
  const unknown = unknownField(value, CHANGED_PATH_FIELDS);
  if (unknown !== null) return unsupported(field, unknown);
  const written = fieldOf(value, name) ?? "";
  if (typeof written !== "string" || !PATH.test(written)) {
    return refused(`${field}.${name} ${quote(written)} is no path`);
  }
  return { ok: true, value: { type, value: written === "" ? "/" : written } };
}

function unsupported(at: string, field: string) {
  return refused(`${at}.${field} is not supported`);
}

function refused(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}

/** What a redirect comes to on a listener, for requests of a match. */
export function redirectOn(
  { status, scheme, host, port, path }: RedirectModel,
  listener: { readonly protocol: string; readonly port: number },
  match: PathMatch,
): Redirect {
  const own = listener.protocol === "HTTPS" ? "https" : "http";
  const shown = port ?? (scheme === null ? listener.port : null);
  return {
    kind: "request-redirect",
    status,
    scheme: scheme ?? own,
    ...(host === null ? {} : { host }),
    ...(shown === null ? {} : { port: shown }),
    ...(path === null ? {} : {
      path: {
        value: path.value,
        // The API allows it with prefixes alone.
        ...(path.type === "ReplacePrefixMatch" && match.type === "Prefix"
          ? { prefix: match.value }
          : {}),
      },
    }),
  };
}
