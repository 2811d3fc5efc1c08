/**
 * Rights that are missing, in the log. In: what the API server says to each call that it refuses.
 * Out: one line for each right that RBAC does not give, whoever made the call.
 */
import type { Logger } from "../../shared/log.ts";
import type { ApiError } from "./types.ts";

/** Milliseconds until the same right is told of again, if it is still missing. */
const REPETITION = 600_000;

/** What RBAC's answer ends with; admission's and quotas' refusals say other things. */
const MISSING =
  /cannot (\w+) resource "([^"]*)" in API group "([^"]*)" (?:in the namespace "([^"]*)"|at the cluster scope)/;

/** Whether RBAC denied the call, and not admission, a quota or the end of a namespace. */
export function isMissingPermission({ code, message }: ApiError): boolean {
  return code === 403 && MISSING.test(message);
}

export class RefusalLog {
  readonly #log: Logger;
  readonly #now: () => number;
  /** When each was told of last. */
  readonly #told = new Map<string, number>();

  /** @param now Milliseconds that never go back. */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log;
    this.#now = now;
  }

  /** To be told of each answer with 403: its message. */
  refused(message: string): void {
    const match = MISSING.exec(message);
    if (match === null) return;
    const [missing, verb, resource, group, namespace] = match;
    const now = this.#now();
    if (now - (this.#told.get(missing) ?? -Infinity) < REPETITION) return;
    this.#told.set(missing, now);
    this.#log.error("The API server denied a call, an RBAC rule is missing", {
      missing: `apiGroups [${group || '""'}], resources [${resource}], verbs [${verb}]`,
      role: namespace === undefined ? "ClusterRole" : `Role in namespace ${namespace}`,
      reason: message,
    });
  }
}
