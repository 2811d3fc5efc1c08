/** What small programs on a library do. In: a case. Out: whether it asks for more than that. */
import type { Case } from "../model.ts";

/** One backend for whatever is asked, and no line about it: nobody has taught them more. */
export function isPlain(what: Case): boolean {
  const { routes = 1, endpoints = 1, accessLog = false } = what;
  return routes === 1 && endpoints === 1 && !accessLog;
}
