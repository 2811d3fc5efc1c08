/**
 * Responses of external authentication that are kept. In: what a filter says of its cache, and a function
 * that sends a subrequest. Out: a function that gives what of a response is used, mostly without one.
 *
 * A key is the hash of the filter's content, the route and the host, and the user's key, each of its parts by
 * itself. As in nginx, a response with Set-Cookie is for one client alone, and so is one that says so.
 */
import { createHash } from "node:crypto";
import { isCredentialVariable } from "../../../shared/path/template_variables.ts";
import { SET_COOKIE } from "../../http/fields.ts";
import type { Exchange } from "../../http/message.ts";
import { type Answer, answerOf, valuesOf } from "./answer.ts";
import type { Kept, ResponseCache } from "./response_cache.ts";
import type { Subresponse } from "./services.ts";
import { cookies, type External, variableReader } from "./template.ts";

type CacheSpec = NonNullable<External["cache"]>;

export function cachedSubresponse(
  spec: External,
  { key, durations }: CacheSpec,
  cache: ResponseCache,
  ask: (x: Exchange) => Promise<Subresponse>,
  routeOf: (x: Exchange) => string | null = () => null,
): (x: Exchange) => Answer | Promise<Answer> {
  const { responseHeaders = [] } = spec;
  const content = createHash("sha256").update(JSON.stringify(spec)).digest("base64");
  // Each part by itself, with any characters: it is only compared.
  const parts = key.map((part) =>
    part.kind === "text" ? { read: () => part.text, credential: null } : {
      read: variableReader(part.name),
      credential: isCredentialVariable(part.name) ? part.name : null,
    }
  );
  const get = async (x: Exchange): Promise<Kept<Answer>> => {
    const response = await ask(x);
    const value = answerOf(response, responseHeaders);
    return { value, time: timeOf(response, durations), bytes: bytesOf(value) };
  };
  const getAlone = async (x: Exchange) => (await get(x)).value;
  return (x) => {
    // Who has none may have been admitted for something that the key does not have, such as an address.
    let hasCredentials = false;
    const { request, record, client } = x;
    // The number of a route may be another's later.
    const route = routeOf(x) ?? record.counters;
    const texts: unknown[] = [content, request.host, route, client.secure];
    for (const { read, credential } of parts) {
      const text = read(x);
      texts.push(text);
      if (credential === null) continue;
      if (text !== "") hasCredentials = true;
      if (isRepeated(credential, x)) return getAlone(x);
    }
    if (!hasCredentials) return getAlone(x);
    const whole = JSON.stringify(texts);
    return cache.find<Answer>(whole) ?? cache.of(whole, () => get(x));
  };
}

/** Of several cookies of a name, whoever authenticates may believe another one than the key has. */
function isRepeated(name: string, x: Exchange): boolean {
  return name.startsWith("cookie_") && cookies(x, name.slice("cookie_".length)).length > 1;
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
  const age = /\b(?:s-maxage|max-age)\s*=\s*"?(\d{1,9})/.exec(control);
  return age === null ? duration.time : Math.min(duration.time, Number(age[1]) * 1000);
}

function bytesOf({ headers, challenge }: Answer): number {
  const text = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return 2 * (text + (challenge?.length ?? 0));
}
