/**
 * Names by which an object has its hosts served beside those of its rules. In: hosts of rules, and what
 * annotations say. Out: each name with the host that it stands for.
 */
import type { FilterSpec, Route } from "../../../shared/snapshot/types.ts";
import { readHost } from "./host.ts";
import type { HostField } from "./host_field.ts";
import type { RouteSettings, RouteSettingsPool } from "./route_settings.ts";

export interface OtherName extends HostField {
  /** `alias`: all requests are served as those of the host. `www`: they are redirected to it. */
  readonly kind: "alias" | "www";
  /** Of a rule of the object. */
  readonly of: string;
}

/** Settings of the routes of names that are redirected; null where an object has none. */
export interface WwwSettings {
  readonly www: RouteSettings | null;
  readonly bare: RouteSettings | null;
}

export const NO_WWW: WwwSettings = { www: null, bare: null };

/**
 * The names of one object, each once.
 *
 * @param hosts Of its rules.
 * @param aliases Of the first host, in the order of names.
 * @param wwwField Of the annotation that redirects from and to `www.`; null without it.
 */
export function otherNames(
  hosts: readonly string[],
  aliases: readonly HostField[],
  wwwField: string | null,
): readonly OtherName[] {
  const names = new Map<string, OtherName>();
  for (const of of wwwField === null ? [] : hosts) {
    const host = wwwName(of);
    if (host !== null && !names.has(host)) {
      names.set(host, { kind: "www", host, field: wwwField!, of });
    }
  }
  const [first] = hosts.toSorted();
  for (const { host, field } of first === undefined ? [] : aliases) {
    if (!names.has(host)) names.set(host, { kind: "alias", host, field, of: first });
  }
  return [...names.values()];
}

/** The host with `www.` or, if it has that, without; null where that is no name. */
export function wwwName(host: string): string | null {
  if (host.startsWith("*.")) return null;
  const reading = readHost(host.startsWith(WWW) ? host.slice(WWW.length) : WWW + host);
  return reading.ok ? reading.host : null;
}

/** Whether requests for the name are redirected to the host with `www.`. */
export function leadsToWww({ of }: OtherName): boolean {
  return of.startsWith(WWW);
}

/** @param filters That their routes have beside the redirect. */
export function wwwSettings(
  names: readonly OtherName[],
  filters: readonly FilterSpec[],
  pool: RouteSettingsPool,
): WwwSettings {
  const redirects = names.filter(({ kind }) => kind === "www");
  if (redirects.length === 0) return NO_WWW;
  const settings = (to: "www" | "bare") => pool.of([...filters, { kind: "www-redirect", to }], {});
  return {
    www: redirects.some(leadsToWww) ? settings("www") : null,
    bare: redirects.every(leadsToWww) ? null : settings("bare"),
  };
}

/** Whether a route is that of another name, and not of a path. */
export function isOfOtherName({ origin }: Pick<Route, "origin">): boolean {
  return origin.field.startsWith("metadata.");
}

const WWW = "www.";
