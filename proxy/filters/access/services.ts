/**
 * What checks need of others. In: nothing. Out: the types of narrow functions, which those give who
 * join filters with the rest. A check that needs a function that is not there cannot be made.
 */

export interface Login {
  /** Id of the credentials of a snapshot that it must be among. */
  readonly credentials: string;
  readonly user: string;
  readonly password: string;
  /** The client's address: each may have only so many logins verified at a time. */
  readonly client: string;
}

export interface AccessServices {
  /**
   * Whether a login is right; without a promise where that is known. Throws or rejects with a
   * ProxyError where the credentials are missing, or where too many logins are being verified.
   */
  readonly verifyLogin?: (login: Login) => boolean | Promise<boolean>;
}
