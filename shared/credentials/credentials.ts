/**
 * Users and passwords in a snapshot. In: credentials. Out: the text that carries them, and the same
 * credentials without it, by a name that tells nothing of it.
 *
 * Hashes of short passwords can be guessed, so nothing that others see is made of them, as a sha256 of
 * the whole would be: the text begins with a comment that names the Secret and its version, and all
 * names are made of that.
 */
import { Redacted } from "../redacted.ts";
import { sha256Of } from "../snapshot/published_set.ts";
import type { Credentials, FilterSpec } from "../snapshot/types.ts";

const MARK = "#pingress ";

/**
 * @param id of the credentials.
 * @param revision Another one whenever the file is; without line ends.
 * @param file as htpasswd writes it, a character for each byte.
 */
export function credentialsOf(id: string, revision: string, file: string): Credentials {
  const text = new Redacted(`${MARK}${id} ${revision}\n${file}`);
  return { id, users: { kind: "secret", text } };
}

/** The id of the credentials without which a filter closes its routes; null for none. */
export function requiredUsersOf(filter: FilterSpec): string | null {
  return filter.kind === "access"
    ? filter.basic?.credentials ?? filter.requiredUsers ?? null
    : null;
}

/** What the text of a Secret of the controller is called: a key in PEM, or such a text. */
export function secretFileName(text: string): string {
  const end = text.startsWith(MARK) ? text.indexOf("\n") : -1;
  return sha256Of(end === -1 ? text : text.slice(0, end));
}

/** With the name of the file in place of its text. */
export function withoutUsers(credentials: Credentials): Credentials {
  const { id, users } = credentials;
  if (users.kind !== "secret") return credentials;
  return { id, users: { kind: "file", path: secretFileName(users.text.reveal()) } };
}
