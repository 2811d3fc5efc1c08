/**
 * A request as the conditions of routes look at it. In: its method, query and headers. Out: the value
 * of a header or of a parameter of the query, read once however many routes want to know it; and the
 * work that all their patterns may be together.
 */
import { PatternWork } from "./patterns/work.ts";

/** What a codec has of a request. */
export interface MatchedRequest {
  readonly method: string;
  /** The path as the client has sent it; missing or empty: as the canonical one. */
  readonly received?: string;
  /** With its `?`, or "". */
  readonly query: string;
  /**
   * The value of the header with this name in lower case, several lines of it joined by "," (RFC 9110
   * §5.3); null for none.
   */
  header(name: string): string | null;
}

/** One without headers. */
export const PLAIN_REQUEST: MatchedRequest = { method: "GET", query: "", header: () => null };

export class RequestView {
  readonly method: string;
  readonly work = new PatternWork();
  readonly #request: MatchedRequest;
  /** Null until one is asked for: paths alone decide most requests. */
  #headers: Map<string, string | null> | null = null;
  #parameters: ReadonlyMap<string, string> | null = null;

  constructor(request: MatchedRequest) {
    this.method = request.method;
    this.#request = request;
  }

  header(name: string): string | null {
    const headers = this.#headers ??= new Map();
    let value = headers.get(name);
    if (value === undefined) {
      value = this.#request.header(name);
      headers.set(name, value);
    }
    return value;
  }

  /** The first value of a parameter; null for none. */
  parameter(name: string): string | null {
    this.#parameters ??= parametersOf(this.#request.query);
    return this.#parameters.get(name) ?? null;
  }
}

/**
 * The first value of each parameter, decoded as a form is: percent-encoding of UTF-8, and "+" for a
 * blank. An escape that is none stands for itself.
 */
function parametersOf(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of isEncoded(query) ? new URLSearchParams(query) : pairsOf(query)) {
    if (!parameters.has(name)) parameters.set(name, value);
  }
  return parameters;
}

function isEncoded(query: string): boolean {
  return query.includes("%") || query.includes("+");
}

/** As `URLSearchParams` has them, at a fifth of the cost for a short query. */
function* pairsOf(query: string): Generator<[name: string, value: string]> {
  for (let at = 1; at < query.length;) {
    const found = query.indexOf("&", at);
    const end = found === -1 ? query.length : found;
    const pair = query.slice(at, end);
    const equals = pair.indexOf("=");
    if (equals !== -1) yield [pair.slice(0, equals), pair.slice(equals + 1)];
    else if (pair !== "") yield [pair, ""];
    at = end + 1;
  }
}
