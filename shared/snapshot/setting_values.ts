/**
 * Values that settings of routes and upstreams may have. In: nothing. Out: the names of choices, and the
 * largest numbers.
 */

/**
 * Ways of spreading requests over the endpoints of an upstream, in the order of help and documentation;
 * see `UPSTREAM.balance` in `schema.ts`.
 */
export const BALANCES = ["round-robin", "least-requests"] as const;

export type Balance = typeof BALANCES[number];

/** In ms. Timers know no more than 2^31 ms, and some wait twice as long. */
export const MAX_TIMEOUT = 1_000_000_000;

/**
 * Of a request body, in bytes, that is kept for another attempt or read before the first one: each
 * request in progress may hold as much.
 */
export const MAX_RETRY_BODY = 1024 * 1024;

/** Of one request. */
export const MAX_TRIES = 10;
