/**
 * Ways of spreading requests over the endpoints of an upstream. In: nothing. Out: their names, in the
 * order of help and documentation; see `UPSTREAM.balance` in `schema.ts`.
 */
export const BALANCES = ["round-robin", "least-requests"] as const;

export type Balance = typeof BALANCES[number];
