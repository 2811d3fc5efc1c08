/**
 * What is verified, and how that ends. In: nothing. Out: the types.
 */

/** One password to be compared with one hash. */
export interface PasswordCheck {
  readonly hash: string;
  /** A character for each byte. */
  readonly password: string;
  /** The client's address. */
  readonly client: string;
}

/** `busy`: it was not compared, as too many others wait. */
export type PasswordVerdict = "right" | "wrong" | "busy";

/** Off the event loop. Rejects where the thread that compares has ended. */
export type VerifyPassword = (check: PasswordCheck) => Promise<PasswordVerdict>;
