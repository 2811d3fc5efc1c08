/**
 * Responses of external authentication that are kept. In: what a filter says of its cache, and a function
 * that sends a subrequest. Out: a function that gives what of a response is used, mostly without one.
 *
 * A key is the hash of the filter's content, the route and the host, and the user's key, each of its parts by
 * itself; without a route, nothing is kept. As in nginx, a response with Set-Cookie is for one client alone, and so
 * is one that says so.
 */
import { createHash } from "node:crypto";
import { isCredentialVariable } from "../../../shared/path/template_variables.ts";
import { type Fields, SET_COOKIE } from "../../http/fields.ts";
import type { Client, Exchange } from "../../http/message.ts";
import { splitList, trimmed } from "../../http/field_values.ts";
import { type Answer, answerOf, valuesOf } from "./answer.ts";
import type { Entry, Kept, ResponseCache } from "./response_cache.ts";
import type { Subresponse } from "./services.ts";
import { type External, isAmbiguous, variableReader } from "./template.ts";

type CacheSpec = NonNullable<External["cache"]>;

/** What a connection's last request got: mostly the next one has the same key, which need not be made. */
interface Latest {
  readonly host: string;
  readonly route: string;
  readonly texts: readonly string[];
  readonly entry: Entry<Answer>;
}

export function cachedSubresponse(
  spec: External,
  { key, durations }: CacheSpec,
  cache: ResponseCache,
  ask: (x: Exchange) => Promise<Subresponse>,
  routeOf: (x: Exchange) => string | null,
): (x: Exchange) => Answer | Promise<Answer> {
  const { responseHeaders = [] } = spec;
  const content = createHash("sha256").update(JSON.stringify(spec)).digest("base64");
  const variables = key.flatMap((part) => part.kind === "text" ? [] : [variableOf(part.name)]);
  /** Of the request that is looked at. */
  const texts = variables.map(() => "");
  const latest = new WeakMap<Client, Latest>();
  const get = async (x: Exchange): Promise<Kept<Answer>> => {
    const response = await ask(x);
    const value = answerOf(response, responseHeaders);
    return { value, time: timeOf(response, durations), bytes: bytesOf(value) };
  };
  const getAlone = async (x: Exchange) => (await get(x)).value;
  return (x) => {
    // Who has none may have been admitted for something that the key does not have, such as an address.
    let hasCredentials = false;
    for (let i = 0; i < variables.length; i++) {
      const { read, isCredential, cookie } = variables[i];
      texts[i] = read(x);
      if (isCredential && texts[i] !== "") hasCredentials = true;
      // Of several of a name, whoever authenticates may believe another one than the key has.
      if (cookie !== null && isAmbiguous(x, cookie)) return getAlone(x);
    }
    if (!hasCredentials) return getAlone(x);
    const route = routeOf(x);
    if (route === null) return getAlone(x);
    const { request: { host }, client } = x;
    const last = latest.get(client);
    if (
      last !== undefined && last.host === host && last.route === route && areSame(last.texts, texts)
    ) {
      const known = cache.valueOf(last.entry);
      if (known !== null) return known;
    }
    // Each part by itself, with any characters: it is only compared.
    const whole = JSON.stringify([content, host, route, client.secure, ...texts]);
    const entry = cache.find<Answer>(whole);
    if (entry?.value == null) return cache.of(whole, () => get(x));
    latest.set(client, { host, route, texts: texts.slice(), entry });
    return entry.value;
  };
}

function variableOf(name: string) {
  return {
    read: variableReader(name),
    isCredential: isCredentialVariable(name),
    cookie: name.startsWith("cookie_") ? name.slice("cookie_".length) : null,
  };
}

function areSame(a: readonly string[], b: readonly string[]): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** In ms; 0 for a response that others may not have. */
function timeOf(
  { status, fields }: Subresponse,
  durations: CacheSpec["durations"],
): number {
  const duration = durations.find(({ statuses }) => statuses.includes(status));
  if (duration === undefined || fields.find(SET_COOKIE) !== -1) return 0;
  const varies = valuesOf(fields, "vary").join(",").split(",")
    .some((name) => !["", "accept-encoding"].includes(name.trim().toLowerCase()));
  if (varies) return 0;
  const control = valuesOf(fields, "cache-control").join(",").toLowerCase();
  if (/\b(?:no-store|no-cache|private)\b/.test(control)) return 0;
  return Math.max(0, Math.min(duration.time, accelTimeOf(fields), ageOf(control, fields)));
}

/** What nginx alone is told: seconds from now, or since 1970. In ms; Infinity for nothing. */
function accelTimeOf(fields: Fields): number {
  const [, at, seconds] = /^(@?)(\d{1,12})$/.exec(valuesOf(fields, "x-accel-expires")[0] ?? "") ??
    [];
  if (seconds === undefined) return Infinity;
  return Number(seconds) * 1000 - (at === "@" ? Date.now() : 0);
}

/**
 * RFC 9111 §4.2.1, §5.2.2.10, §5.3: an age for shared caches counts before one for all, and a date without
 * either; of several the lowest. What is none has passed. As above.
 */
function ageOf(control: string, fields: Fields): number {
  const ages = { "s-maxage": Infinity, "max-age": Infinity };
  for (const directive of splitList(control)) {
    const equals = directive.indexOf("=");
    const name = equals === -1 ? directive : trimmed(directive.slice(0, equals));
    if (name !== "s-maxage" && name !== "max-age") continue;
    const value = equals === -1 ? "" : trimmed(directive.slice(equals + 1));
    const seconds = /^(?:\d+|"\d+")$/.test(value) ? Number(value.replaceAll('"', "")) : 0;
    ages[name] = Math.min(ages[name], seconds * 1000);
  }
  if (ages["s-maxage"] !== Infinity) return ages["s-maxage"];
  if (ages["max-age"] !== Infinity) return ages["max-age"];
  const [expires] = valuesOf(fields, "expires");
  if (expires === undefined) return Infinity;
  const date = expires.endsWith(" GMT") ? Date.parse(expires) : NaN;
  return Number.isNaN(date) ? 0 : date - Date.now();
}

function bytesOf({ headers, challenge }: Answer): number {
  const text = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return 2 * (text + (challenge?.length ?? 0));
}
