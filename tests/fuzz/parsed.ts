/**
 * What a parser makes of a client's whole stream. In: nothing. Out: the shape in which our parser and
 * its peers say it, so that they can be compared.
 */

export interface ParsedRequest {
  readonly method: string;
  /** As it stands in the request line. */
  readonly target: string;
  /** In the order and spelling in which the parser gives them. */
  readonly fields: readonly (readonly [string, string])[];
  /** Decoded, one character a byte. */
  readonly body: string;
  /** Offset in the stream of the byte behind the request's last. */
  readonly end: number;
}

/**
 * `complete`: the stream ended between two requests. `incomplete`: it ended within one. `closed`: the
 * last request ends the connection, what follows it is not read. `rejected`: see `detail`.
 */
export type Outcome = "complete" | "incomplete" | "closed" | "rejected";

export interface ParsedStream {
  readonly requests: readonly ParsedRequest[];
  readonly outcome: Outcome;
  /** Why it was rejected, in the parser's own words. */
  readonly detail: string;
}
