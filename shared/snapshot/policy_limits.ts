/** Bounds of what policies may say. In: nothing. Out: the largest values. */

/** In ms. Timers know no more than 2^31 ms, and some wait twice as long. */
export const MAX_TIMEOUT = 1_000_000_000;

/** Of a request body, in bytes, kept for another attempt: each request in progress may hold as much. */
export const MAX_RETRY_BODY = 1024 * 1024;

/** Of one request. */
export const MAX_TRIES = 10;
