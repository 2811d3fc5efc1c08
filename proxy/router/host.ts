/**
 * Hosts. In: patterns as in `Route.host`, each with a number, and another one beside it, then a
 * request's host. Out: the numbers of the most specific pattern that takes the host. Costs the same
 * with one pattern as with ten thousand.
 */
import { NameTable, NO_NAME } from "./name_table.ts";

/** Stands for `*` where the place in a host is asked for. */
export const ANY = -1;

/** No pattern takes the host, or there is no such pattern. */
export const NO_HOST: number = NO_NAME;

export class HostIndex {
  readonly #exact = new NameTable();
  /** By what follows `*.`. */
  readonly #wildcards = new NameTable();
  #any = NO_HOST;
  #besideAny = 0;
  #beside = 0;

  /** What stands beside the number that `find` has given last. */
  get beside(): number {
    return this.#beside;
  }

  /** The number of this very pattern, or `NO_HOST`. */
  get(pattern: string): number {
    if (pattern === "*") return this.#any;
    if (pattern.startsWith("*.")) return this.#wildcards.get(pattern, 2);
    return this.#exact.get(pattern);
  }

  /**
   * The number of one of the patterns that take `host`, or `NO_HOST`.
   *
   * @param from 0 for the name itself; `ANY` for `*`; or where what follows `*.` begins in it.
   */
  at(host: string, from: number): number {
    if (from === ANY) return this.#any;
    const table = from === 0 ? this.#exact : this.#wildcards;
    return table.size === 0 ? NO_HOST : table.get(host, from);
  }

  /** @param number 0 or more, of 31 bits, as is `beside`. */
  set(pattern: string, number: number, beside = 0): void {
    if (pattern === "*") {
      this.#any = number;
      this.#besideAny = beside;
    } else if (pattern.startsWith("*.")) {
      this.#wildcards.set(pattern.slice(2), number, beside);
    } else {
      this.#exact.set(pattern, number, beside);
    }
  }

  delete(pattern: string): void {
    if (pattern === "*") this.#any = NO_HOST;
    else if (pattern.startsWith("*.")) this.#wildcards.delete(pattern.slice(2));
    else this.#exact.delete(pattern);
  }

  /**
   * The number of the pattern that decides for `host` (lower case, without port and last dot, ""
   * for none): the exact one, else a wildcard for exactly its first label, else `*`; or `NO_HOST`.
   */
  find(host: string): number {
    if (this.#exact.size > 0) {
      const exact = this.#exact.get(host);
      if (exact !== NO_HOST) {
        this.#beside = this.#exact.beside;
        return exact;
      }
    }
    if (this.#wildcards.size > 0) {
      const dot = host.indexOf(".");
      if (dot > 0) {
        const wildcard = this.#wildcards.get(host, dot + 1);
        if (wildcard !== NO_HOST) {
          this.#beside = this.#wildcards.beside;
          return wildcard;
        }
      }
    }
    this.#beside = this.#besideAny;
    return this.#any;
  }
}

/**
 * The pattern after the one at `from`, from the most specific to `ANY`, as `HostIndex.at` has them; in
 * the order of `patternsOf`, without making texts.
 */
export function nextPattern(host: string, from: number, wildcards: Wildcards): number {
  const isDone = from !== 0 && wildcards === "one-label";
  const dot = isDone ? -1 : host.indexOf(".", from);
  return dot <= 0 ? ANY : dot + 1;
}

/** How many labels a wildcard stands for: exactly one, or one and more. */
export type Wildcards = "one-label" | "suffix";

/** Whether a pattern takes a host, be there a more specific one or not. */
export function hostPatternTakes(
  pattern: string,
  host: string,
  wildcards: Wildcards = "one-label",
): boolean {
  if (pattern === "*" || pattern === host) return true;
  if (!pattern.startsWith("*.")) return false;
  const suffix = pattern.slice(1);
  if (wildcards === "suffix") {
    return host.length > suffix.length && host.endsWith(suffix) && !host.startsWith(".");
  }
  const dot = host.indexOf(".");
  return dot > 0 && host.slice(dot) === suffix;
}

/** All patterns that take a host, the most specific first. */
export function patternsOf(host: string, wildcards: Wildcards): string[] {
  const patterns = host === "" ? [] : [host];
  let dot = host.indexOf(".");
  if (dot > 0) {
    for (; dot !== -1; dot = host.indexOf(".", dot + 1)) {
      patterns.push(`*${host.slice(dot)}`);
      if (wildcards === "one-label") break;
    }
  }
  patterns.push("*");
  return patterns;
}
