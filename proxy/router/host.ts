/**
 * Hosts. In: patterns as in `Route.host`, each with a value, then a request's host. Out: the value
 * of the most specific pattern that takes the host. Costs the same with one pattern as with ten
 * thousand.
 */

export class HostIndex<T> {
  #exact = new Map<string, T>();
  /** By what follows `*.`. */
  #wildcards = new Map<string, T>();
  #any: T | undefined;

  /** The value of this very pattern. */
  get(pattern: string): T | undefined {
    if (pattern === "*") return this.#any;
    if (pattern.startsWith("*.")) return this.#wildcards.get(pattern.slice(2));
    return this.#exact.get(pattern);
  }

  set(pattern: string, value: T): void {
    if (pattern === "*") this.#any = value;
    else if (pattern.startsWith("*.")) this.#wildcards.set(pattern.slice(2), value);
    else this.#exact.set(pattern, value);
  }

  delete(pattern: string): void {
    if (pattern === "*") this.#any = undefined;
    else if (pattern.startsWith("*.")) this.#wildcards.delete(pattern.slice(2));
    else this.#exact.delete(pattern);
  }

  /**
   * The value of the pattern that decides for `host` (lower case, without port and last dot, ""
   * for none): the exact one, else a wildcard for exactly its first label, else `*`.
   */
  find(host: string): T | undefined {
    const exact = this.#exact.get(host);
    if (exact !== undefined) return exact;
    if (this.#wildcards.size > 0) {
      const dot = host.indexOf(".");
      if (dot > 0) {
        const wildcard = this.#wildcards.get(host.slice(dot + 1));
        if (wildcard !== undefined) return wildcard;
      }
    }
    return this.#any;
  }
}

/** Whether a pattern takes a host, be there a more specific one or not. */
export function hostPatternTakes(pattern: string, host: string): boolean {
  if (pattern === "*" || pattern === host) return true;
  if (!pattern.startsWith("*.")) return false;
  const dot = host.indexOf(".");
  return dot > 0 && host.slice(dot) === pattern.slice(1);
}
