/**
 * Random Secrets of users, and logins for them. In: random choices. Out: Secrets of both kinds with each format
 * that Debian's nginx and its libcrypt verify, the file that ingress-nginx makes of each, and values of
 * Authorization.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { KubeSecret } from "../../controller/kube/resources.ts";
import type { Random } from "../fuzz/random.ts";

export interface PasswordFile {
  readonly name: string;
  readonly secret: KubeSecret;
  readonly kind: "auth-file" | "auth-map";
  /** As ingress-nginx writes it. */
  readonly text: string;
  readonly users: readonly User[];
}

interface User {
  readonly name: string;
  readonly password: string;
  /** How the hash begins. */
  readonly format: string;
}

export interface RandomLogin {
  /** Of Authorization; null for none. */
  readonly value: string | null;
  /** Of the user whose login it is; null for a wrong one. */
  readonly format: string | null;
}

/** All that users have. */
export const FORMATS = [
  ...["$apr1$", "$1$", "$5$", "$6$", "$2y$", "$2b$", "$2a$", "DES", "{PLAIN}", "{SHA}", "{SSHA}"],
];

/** Made by crypt(3), but for $apr1$, which openssl made. */
const HASHES: Readonly<Record<string, readonly string[]>> = {
  "open sesame": [
    "$apr1$saltsalt$HIDXe7D36X22w1CH4M1cQ.",
    "$1$saltsalt$Yo6tRKYGO/jWyb1etwHDS/",
    "$5$rounds=1000$saltstring$n3a2i8i4F9QJeBWCS0AMO5xyVBBf.4iFCPvoPCJ5wW9",
    "$6$rounds=1000$saltstring$AdF0dhxxQeX7lBhEFgFprDLUvtSZ7IYdRFezMwSn6Qhut1SH9kbIGcYsgWgPCQEHCNfc7DGxViV.S4ubwHZG4.",
    "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy",
    "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy",
    "$2a$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy",
    "ab/G8gtZdMwak",
  ],
  "p:w": [
    "$apr1$saltsalt$UN3HtJNalTCBfQQQEMvxF/",
    "$1$saltsalt$KJCc1b8B.XlIXLFEwxT5o1",
    "$5$rounds=1000$saltstring$IG3xYOcwebaQjJUIQ1sc8gM6iVr0P8YXtG83.ltFNk8",
    "$6$rounds=1000$saltstring$flbxwAHPmSk.ex8IimYsQ61ztkJ3uiu70.8dmSTUQIQJo5PRjg8g1YzARa5l7aKdxVKQHbeCVJkLwDx5DaeKw/",
    "$2y$04$abcdefghijklmnopqrstuuMjP8rcRP9jDBaf.MqHtqTjAN61Q1x0.",
    "$2b$04$abcdefghijklmnopqrstuuMjP8rcRP9jDBaf.MqHtqTjAN61Q1x0.",
    "abjhEBumMseuI",
  ],
};

/** Formats that hash any password. */
const MAKERS: readonly ((password: string) => string)[] = [
  (password) => `{PLAIN}${password}`,
  (password) => `{SHA}${sha1(password).toString("base64")}`,
  (password) => {
    const digest = [sha1(`${password}salt`), Buffer.from("salt")];
    return `{SSHA}${Buffer.concat(digest).toString("base64")}`;
  },
];

/** Passwords for these alone: `:` ends the hash of a line. */
const OTHERS = ["secret", "pässword", "x"];
const NAMES = ["ann", "bob", "eve.x", "u-1", "Ann"];

/** Each password in each format that it has. */
const DECK: readonly (readonly [password: string, hash: string])[] = [
  ...Object.entries(HASHES).flatMap(([password, hashes]) =>
    hashes.map((hash) => [password, hash] as const)
  ),
  ...OTHERS.flatMap((password) => MAKERS.map((make) => [password, make(password)] as const)),
];

/** As many as there are passwords, so that all of them are used. */
export function passwordFiles(random: Random): PasswordFile[] {
  let dealt = random.below(DECK.length);
  const deal = () => DECK[dealt++ % DECK.length];
  return DECK.map((_, i) => {
    return passwordFile(random.fork(), `users-${i}`, i % 2 === 0 ? "auth-file" : "auth-map", deal);
  });
}

function passwordFile(
  random: Random,
  name: string,
  kind: PasswordFile["kind"],
  deal: () => readonly [password: string, hash: string],
): PasswordFile {
  const users: User[] = [];
  const entries: (readonly [name: string, hash: string])[] = [];
  for (const each of NAMES.filter(() => random.oneIn(2)).concat("last")) {
    const [password, hash] = deal();
    const format = FORMATS.find((start) => hash.startsWith(start)) ?? "DES";
    users.push({ name: each, password, format });
    entries.push([each, hash]);
  }
  const metadata = { namespace: "default", name, uid: name, resourceVersion: "1" };
  const secret = (data: Record<string, string>): KubeSecret => ({
    metadata,
    type: "Opaque",
    data: Object.fromEntries(
      Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
    ),
  });
  if (kind === "auth-map") {
    const data = Object.fromEntries(
      entries.map(([user, hash]) => [user, hash + random.pick(["", "\n"])]),
    );
    const text = Object.entries(data).map(([user, hash]) => `${user}:${hash}\n`).join("");
    return { name, secret: secret(data), kind, text, users };
  }
  const lines = entries.flatMap(([user, hash]) => [
    ...(random.oneIn(4) ? [random.pick(["", "# ann:{PLAIN}x", "#", "ann"])] : []),
    `${user}:${hash}${random.pick(["", "", ":a comment"])}`,
  ]);
  // Of a user who is there twice, the first line counts.
  if (random.oneIn(2)) lines.push(`${random.pick(entries)[0]}:{PLAIN}again`);
  const text = lines.join(random.pick(["\n", "\n", "\r\n"])) + random.pick(["", "\n"]);
  return { name, secret: secret({ auth: text }), kind, text, users };
}

/** Of each user. */
export function rightLogins({ users }: PasswordFile): RandomLogin[] {
  return users.map(({ name, password, format }) => {
    return { value: `Basic ${encoded(`${name}:${password}`)}`, format };
  });
}

export function randomLogin(random: Random, { users }: PasswordFile): RandomLogin {
  const { name, password, format } = random.pick(users);
  const right = encoded(`${name}:${password}`);
  if (random.oneIn(2)) {
    return { value: `${random.pick(["Basic", "Basic", "basic", "BASIC "])} ${right}`, format };
  }
  const value = random.pick([
    null,
    null,
    `Basic ${encoded(`${name}:again`)}`,
    `Basic ${encoded(`${name}:${password} `)}`,
    `Basic ${encoded(`${name}:`)}`,
    `Basic ${encoded(`${name.toUpperCase()}:${password}`)}`,
    `Basic ${encoded(`nobody:${password}`)}`,
    `Basic ${encoded(`:${password}`)}`,
    `Basic ${encoded(name)}`,
    `Basic ${encoded(`# ann:x`)}`,
    `Bearer ${right}`,
    "Basic",
    "Basic !!!!",
    `Basic${right}`,
  ]);
  return { value, format: null };
}

function encoded(login: string): string {
  return Buffer.from(login).toString("base64");
}

function sha1(text: string): Buffer {
  return createHash("sha1").update(text).digest();
}
