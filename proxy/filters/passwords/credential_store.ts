/**
 * Users and passwords of one event loop. In: credentials of snapshots, as they change. Out: whether a
 * login is right. Only successes are remembered, under a keyed hash, until the credentials change.
 *
 * A user that there is not costs the same comparison as one that there is.
 */
import { createHmac, randomBytes } from "node:crypto";
import { readHtpasswd } from "../../../shared/credentials/htpasswd.ts";
import type { Secret } from "../../../shared/redacted.ts";
import { ProxyError } from "../../errors.ts";
import type { VerifyPassword } from "./messages.ts";

export interface Login {
  /** A character for each byte, as in `password`. */
  readonly user: string;
  readonly password: string;
  /** The client's address. */
  readonly client: string;
}

/** Of one id, until they change. */
export interface Logins {
  /**
   * Whether a login is right; without a promise where that is known. Rejects with a ProxyError where
   * too many others are being verified, or none can be.
   */
  verify(login: Login): boolean | Promise<boolean>;
}

/** Characters of an Authorization header; no user and password that are admitted need more. */
export const MAX_LOGIN = 2048;

/** Successes that are remembered for each id; the one that was used last goes last. */
const MAX_KEPT = 4096;

export class CredentialStore {
  readonly #verifyPassword: VerifyPassword;
  readonly #logins = new Map<string, Logins | null>();

  constructor(verifyPassword: VerifyPassword) {
    this.#verifyPassword = verifyPassword;
  }

  /** `users` is an htpasswd file; null where it is not there, so that nobody is admitted. */
  apply(
    changed: readonly { readonly id: string; readonly users: Secret | null }[],
    removed: readonly string[],
  ): void {
    for (const id of removed) this.#logins.delete(id);
    for (const { id, users } of changed) {
      this.#logins.set(id, users === null ? null : new UserLogins(users, this.#verifyPassword));
    }
  }

  /** Those with an id. Throws a ProxyError where the snapshot has none, or none that can be used. */
  readonly loginsOf = (id: string): Logins => {
    const logins = this.#logins.get(id);
    if (logins === undefined) throw new ProxyError("route_broken", `no credentials ${id}`);
    if (logins === null) throw new ProxyError("route_closed", `credentials ${id} cannot be used`);
    return logins;
  };
}

class UserLogins implements Logins {
  readonly #verifyPassword: VerifyPassword;
  readonly #hashes: ReadonlyMap<string, string | null>;
  /** Compared with for users that there are not; null where nobody can log in. */
  readonly #dummy: string | null;
  readonly #key = randomBytes(32);
  readonly #known = new Set<string>();

  constructor(users: Secret, verifyPassword: VerifyPassword) {
    this.#verifyPassword = verifyPassword;
    this.#hashes = readHtpasswd(users.reveal()).hashes;
    this.#dummy = [...this.#hashes.values()].find((hash) => hash !== null) ?? null;
  }

  verify({ user, password, client }: Login): boolean | Promise<boolean> {
    if (this.#dummy === null) return false;
    const digest = createHmac("sha256", this.#key).update(`${user}:${password}`, "latin1")
      .digest("base64");
    if (this.#known.delete(digest)) {
      this.#known.add(digest);
      return true;
    }
    const hash = this.#hashes.get(user) ?? null;
    return this.#compare(hash, { hash: hash ?? this.#dummy, password, client }, digest);
  }

  async #compare(
    hash: string | null,
    check: Parameters<VerifyPassword>[0],
    digest: string,
  ): Promise<boolean> {
    const verdict = await this.#verifyPassword(check);
    if (verdict === "busy") {
      // Not `overloaded`, which alerts take for a proxy at its limits.
      throw new ProxyError("logins_busy");
    }
    const isRight = verdict === "right" && hash !== null;
    if (isRight) {
      this.#known.add(digest);
      const [oldest] = this.#known;
      if (this.#known.size > MAX_KEPT) this.#known.delete(oldest);
    }
    return isRight;
  }
}
