/**
 * Users and passwords for basic authentication. In: sources whose filters name credentials, and Secrets.
 * Out: the credentials for the snapshot, each once, with a problem for those that cannot be used. Their
 * routes stay, and answer 503 until the Secret is there.
 *
 * https://kubernetes.github.io/ingress-nginx/examples/auth/basic/
 */
import { Buffer } from "node:buffer";
import { readHtpasswd } from "../../../shared/credentials/htpasswd.ts";
import { credentialsOf, requiredUsersOf } from "../../../shared/credentials/credentials.ts";
import type { Credentials } from "../../../shared/snapshot/types.ts";
import { asObject, fieldOf, quote } from "../../base/json.ts";
import { differenceOf } from "../../base/memo.ts";
import type { ProblemList } from "../../base/problems.ts";
import { compareText } from "../../base/text_order.ts";
import { describeExcess, excessOf } from "../../kube/excess.ts";
import { MAX_PASSWORD_BYTES, oversizeOf } from "../../base/secret_values.ts";
import { readSecretValue, tooLarge } from "../certificates/certificate.ts";
import type { SecretModel } from "../certificates/certificate_source.ts";
import { type CredentialsName, readCredentialsId } from "../model/credentials_name.ts";
import type { Source } from "../model/source.ts";
import { settingsOf } from "../model/source_settings.ts";

/** Bytes of all files of one namespace together: some four thousand users. */
const MAX_NAMESPACE = MAX_PASSWORD_BYTES;

/**
 * Bytes of all files. The Secrets that carry them have 15 MiB, and keys of certificates, which may take 11 MiB
 * (`cluster_sizes.ts`) and a sixteenth more when they are renewed.
 */
const MAX_ALL = 2.5 * 1024 * 1024;

const REMEDY = {
  "auth-file": "Store an htpasswd file as the key auth (kubectl create secret generic NAME " +
    "--from-file=auth)",
  "auth-map": "Store a key for each user, with the hash of the password as its value",
} as const;

interface Fault {
  readonly reason: "SecretNotFound" | "CredentialsInvalid";
  /** A clause. */
  readonly clause: string;
  /** Missing where the Secret has to be written anew. */
  readonly remedy?: string;
}

/** What one Secret gives. */
interface Reading {
  readonly credentials: Credentials;
  readonly bytes: number;
  /** Why it cannot be used; null where it can. */
  readonly fault: Fault | null;
  /** Lines, or keys, that are of no use. */
  readonly broken: readonly number[];
}

/** One Secret that filters name. */
interface Named {
  readonly id: string;
  readonly name: CredentialsName;
  readonly reading: Reading;
}

export class CredentialsReader {
  #sources: readonly Source[] = [];
  /** By id. */
  readonly #users = new Map<string, Set<Source>>();
  readonly #readings = new WeakMap<SecretModel, Map<string, Reading>>();
  /** The very same list where nothing has changed. */
  #last: readonly Credentials[] = [];

  /** @param published What was published of credentials last: they keep their room. */
  read(
    sources: readonly Source[],
    secrets: ReadonlyMap<string, SecretModel>,
    problems: ProblemList,
    published: readonly Credentials[],
  ): readonly Credentials[] {
    this.#follow(sources);
    const named = [...this.#users.keys()].sort(compareText).flatMap((id): Named[] => {
      const name = readCredentialsId(id);
      return name === null ? [] : [{ id, name, reading: this.#readingOf(id, name, secrets) }];
    });
    const withoutRoom = filesWithoutRoom(named, published);
    const list: Credentials[] = [];
    for (const { id, name, reading } of named) {
      const fault = withoutRoom.get(id) ?? reading.fault;
      list.push(fault === null ? reading.credentials : missing(id));
      for (const source of this.#users.get(id)!) {
        report(source, name, fault, reading.broken, problems);
      }
    }
    const isSame = list.length === this.#last.length &&
      list.every((one, i) => isSameCredentials(one, this.#last[i]));
    return isSame ? this.#last : this.#last = list;
  }

  #follow(sources: readonly Source[]): void {
    const { removed, added } = differenceOf(this.#sources, sources);
    this.#sources = sources;
    for (const source of removed) {
      for (const id of idsOf(source)) {
        const users = this.#users.get(id);
        users?.delete(source);
        if (users?.size === 0) this.#users.delete(id);
      }
    }
    for (const source of added) {
      for (const id of idsOf(source)) {
        const users = this.#users.get(id);
        if (users === undefined) this.#users.set(id, new Set([source]));
        else users.add(source);
      }
    }
  }

  #readingOf(
    id: string,
    name: CredentialsName,
    secrets: ReadonlyMap<string, SecretModel>,
  ): Reading {
    const secret = secrets.get(`${name.namespace}/${name.name}`);
    if (secret === undefined) {
      const clause = `there is no Secret ${name.name} in namespace ${name.namespace}`;
      const fault = { reason: "SecretNotFound", clause } as const;
      return { credentials: missing(id), bytes: 0, fault, broken: [] };
    }
    let known = this.#readings.get(secret);
    if (known === undefined) this.#readings.set(secret, known = new Map());
    let reading = known.get(id);
    if (reading === undefined) known.set(id, reading = readingOf(id, name, secret));
    return reading;
  }
}

function readingOf(id: string, credentials: CredentialsName, { object }: SecretModel): Reading {
  const { name, kind } = credentials;
  const refused = (why: string, remedy?: string): Reading => {
    const fault = invalid(`Secret ${name} cannot be used: ${why}`, remedy);
    return { credentials: missing(id), bytes: 0, fault, broken: [] };
  };
  const excess = excessOf(object);
  if (excess !== null) return refused(...describeExcess(excess));
  const type = fieldOf(object, "type");
  if (typeof type === "string" && type.startsWith("kubernetes.io/")) {
    return refused(`it is of type ${quote(type)}, and not Opaque`);
  }
  const file = kind === "auth-file" ? valueOf(object, "auth") : mapOf(object);
  if (!file.ok) {
    return refused(file.message, file.isTooLarge ? fewerUsers(credentials) : undefined);
  }
  const { text } = file;
  if (text.length > MAX_NAMESPACE) {
    const why = kind === "auth-file"
      ? tooLarge("auth", MAX_NAMESPACE)
      : `its values are too large: they have more than ${MAX_NAMESPACE} bytes`;
    return refused(why, fewerUsers(credentials));
  }
  const { hashes, broken } = readHtpasswd(text);
  // Nothing else of the Secret leaves it: somebody may have named one with a private key.
  const lines = [...hashes].flatMap(([user, hash]) => hash === null ? [] : `${user}:${hash}\n`);
  if (lines.length === 0) return refused("it has no user whose password can be verified");
  const metadata = fieldOf(object, "metadata");
  const revision = [fieldOf(metadata, "uid"), fieldOf(metadata, "resourceVersion")]
    .map((part) => typeof part === "string" && /^[-\w.]{1,128}$/.test(part) ? part : "")
    .join(".");
  return {
    credentials: credentialsOf(id, revision, lines.join("")),
    bytes: text.length,
    fault: null,
    broken,
  };
}

type Value =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly isTooLarge?: true };

/** A character for each byte. */
function valueOf(secret: object, key: string): Value {
  const reading = readSecretValue(secret, key);
  const isEmpty = reading.ok ? reading.text === "" : fieldOf(fieldOf(secret, "data"), key) === "";
  if (isEmpty) return { ok: false, message: `its key ${key} is empty` };
  if (!reading.ok) {
    const { message } = reading;
    const isTooLarge = Object.hasOwn(oversizeOf(secret), key);
    return { ok: false, message, ...(isTooLarge ? { isTooLarge } : {}) };
  }
  const { field, text } = reading;
  // `stringData` is text, of which the API server makes UTF-8.
  return { ok: true, text: field.startsWith("stringData") ? latin1Of(text) : text };
}

function latin1Of(text: string): string {
  return Buffer.from(text).toString("latin1");
}

/** A line for each key, in their order: a value that ends its line would make other users. */
function mapOf(secret: object): Value {
  // A user whose key is not there would only be missing: nobody would hear of it.
  const [limit] = Object.values(oversizeOf(secret));
  if (limit !== undefined) {
    const message = `its values are too large: they have more than ${limit} bytes`;
    return { ok: false, message, isTooLarge: true };
  }
  const keys = ["data", "stringData"].flatMap((field) =>
    Object.keys(asObject(fieldOf(secret, field)) ?? {})
  );
  const lines: string[] = [];
  for (const key of [...new Set(keys)].sort(compareText)) {
    const value = valueOf(secret, key);
    const hash = value.ok ? value.text.replace(/[\r\n]{1,2}$/, "") : "";
    lines.push(/[\r\n:]/.test(key) || /[\r\n]/.test(hash) ? ":" : `${latin1Of(key)}:${hash}`);
  }
  return lines.length === 0
    ? { ok: false, message: "it has no keys" }
    : { ok: true, text: `${lines.join("\n")}\n` };
}

function invalid(clause: string, remedy?: string): Fault {
  return { reason: "CredentialsInvalid", clause, ...(remedy === undefined ? {} : { remedy }) };
}

/**
 * Files that there is no room for, by id: those that are added, or have grown. What is published stays, then come
 * changes of it, then what is new; of several, the smaller ones and then those that are first by name.
 */
function filesWithoutRoom(
  named: readonly Named[],
  published: readonly Credentials[],
): ReadonlyMap<string, Fault> {
  const before = new Map(published.map((one) => [one.id, one]));
  const ranked = named.map((one) => ({ ...one, rank: rankOf(one, before.get(one.id)) }))
    .sort((a, b) => a.rank - b.rank || a.reading.bytes - b.reading.bytes);
  const sizes = new Map<string, number>();
  const withoutRoom = new Map<string, Fault>();
  let all = 0;
  for (const { id, name, reading: { bytes } } of ranked) {
    const { namespace } = name;
    const own = (sizes.get(namespace) ?? 0) + bytes;
    if (own > MAX_NAMESPACE) {
      const files = `the password files of namespace ${namespace}`;
      withoutRoom.set(id, excessive(name, files, MAX_NAMESPACE, fewerUsers(name)));
    } else if (all + bytes > MAX_ALL) {
      const files = "the password files of all namespaces";
      const remedy = `Remove users from Secret ${namespace}/${name.name}, or from others of any ` +
        `namespace: ${files} may have ${MAX_ALL} bytes in all`;
      withoutRoom.set(id, excessive(name, files, MAX_ALL, remedy));
    } else {
      sizes.set(namespace, own);
      all += bytes;
    }
  }
  return withoutRoom;
}

/** The lower, the earlier it gets room. */
function rankOf({ reading: { credentials: { users } } }: Named, before?: Credentials): number {
  if (before === undefined || before.users.kind === "missing") return 2;
  const isSame = users.kind === "secret" && before.users.kind === "secret" &&
    (users.text === before.users.text || users.text.reveal() === before.users.text.reveal());
  return isSame ? 0 : 1;
}

function excessive({ name }: CredentialsName, files: string, limit: number, remedy: string): Fault {
  const clause = `with Secret ${name} ${files} would have more than ${limit} bytes`;
  return invalid(clause, remedy);
}

/** Another Secret of the namespace does not help: it counts as well. */
function fewerUsers({ namespace, name }: CredentialsName): string {
  return `Remove users from Secret ${namespace}/${name}, or from others of namespace ${namespace}, or ` +
    "move some to a Secret and an Ingress of another namespace: the password files of a namespace " +
    `may have ${MAX_NAMESPACE} bytes in all`;
}

function missing(id: string): Credentials {
  return { id, users: { kind: "missing" } };
}

function report(
  { identity }: Source,
  { namespace, name, kind, field }: CredentialsName,
  fault: Fault | null,
  broken: readonly number[],
  problems: ProblemList,
): void {
  const about = problems.about(identity.ref);
  if (fault !== null) {
    about.error(field, {
      reason: fault.reason,
      message: `${fault.clause}, so requests get 503`,
      remedy: fault.remedy ??
        `${REMEDY[kind].replace("NAME", name)} in Secret ${namespace}/${name}`,
    });
    return;
  }
  if (broken.length === 0) return;
  const shown = broken.slice(0, 10).join(", ") + (broken.length > 10 ? " and more" : "");
  const [what, remedy] = kind === "auth-file"
    ? [`lines ${shown}`, "Write user:hash with a hash of htpasswd, of bcrypt with a cost up to 14"]
    : [
      `keys ${shown}, in the order of their names,`,
      "Write a hash of htpasswd, of bcrypt with a cost up to 14",
    ];
  about.warning(field, {
    reason: "CredentialsInvalid",
    message: `${what} of Secret ${name} cannot be used, so their users are not admitted`,
    remedy,
  });
}

function idsOf(source: Source): string[] {
  const ids = settingsOf(source).flatMap(({ filterSet }) =>
    (filterSet?.filters ?? []).flatMap((filter) => requiredUsersOf(filter) ?? [])
  );
  return [...new Set(ids)];
}

function isSameCredentials(a: Credentials, b: Credentials): boolean {
  return a === b || (a.id === b.id && a.users.kind === "missing" && b.users.kind === "missing");
}
