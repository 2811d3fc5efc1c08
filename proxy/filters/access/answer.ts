/**
 * What is used of a response to a subrequest for authentication. In: its status and fields. Out: headers
 * for the upstream, and what the client gets; nothing of it belongs to a connection.
 */
import { type Fields, SET_COOKIE, WWW_AUTHENTICATE } from "../../http/fields.ts";
import type { Subresponse } from "./services.ts";

/** What of a response is used. */
export interface Answer {
  readonly status: number;
  /** Headers for the upstream. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Of a 401. */
  readonly challenge: string | null;
  readonly cookies: readonly string[];
}

/** @param responseHeaders in lower case. */
export function answerOf(
  { status, fields }: Subresponse,
  responseHeaders: readonly string[],
): Answer {
  const isAdmitted = status >= 200 && status < 300;
  return {
    status,
    headers: isAdmitted
      ? responseHeaders.flatMap((name) => {
        const value = joined(valuesOf(fields, name));
        return value === "" ? [] : [[name, value] as const];
      })
      : [],
    challenge: status === 401 ? joined(valuesById(fields, WWW_AUTHENTICATE)) || null : null,
    cookies: valuesById(fields, SET_COOKIE).filter((cookie) => cookie !== ""),
  };
}

export function valuesOf(fields: Fields, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < fields.count; i++) {
    if (fields.nameEnd(i) - fields.nameStart(i) !== name.length) continue;
    if (fields.name(i).toLowerCase() === name) values.push(fields.value(i));
  }
  return values;
}

/** Without empty lines: a value that ended with a blank could not be sent on (RFC 9110 §5.6.1.2). */
function joined(values: readonly string[]): string {
  return values.filter((value) => value !== "").join(", ");
}

function valuesById(fields: Fields, id: number): string[] {
  const values: string[] = [];
  for (let i = fields.find(id); i !== -1; i = fields.find(id, i + 1)) values.push(fields.value(i));
  return values;
}
