/**
 * Pieces of what tenants write. In: nothing. Out: pumps and frames for values of annotations, hosts, paths
 * and PEM texts.
 */
import type { Frame } from "./pumps.ts";

/** What may stand in a value of an annotation, a host or a path, each of its kind. */
export const VALUE_PUMPS: readonly string[] = [
  " ",
  "\t",
  ",",
  " ,",
  "a,",
  "0",
  "a",
  "F",
  ".",
  "a.",
  ":",
  "0:",
  "/",
  "/0",
  "0.0.0.0/0,",
  "::/0,",
  "TLSv1.2",
  "TLSv1.2,",
  "TLSv1.1 ",
  "-",
  "a-",
  '"',
  "%2",
  "%41",
  "../",
  "\n",
  "[",
  "]",
  "\xe9",
];

/** The same for lists, whose every element may be a problem. */
export const LIST_PUMPS: readonly string[] = [
  " ",
  ",",
  "a,",
  "a.a,",
  "::1,",
  "a",
  ".",
  ":",
  "-",
  "[",
  '"',
];

/** An access list is looked at for IPv6 where it admits all of IPv4. */
export const VALUE_FRAMES: readonly Frame[] = [["0", "x"], ["0.0.0.0/0,", "/0x"]];

/** What values of annotations are made of, beside `VALUE_PUMPS`. */
export const TYPED_PUMPS: readonly string[] = [
  "$host",
  "${",
  "$",
  "200 ",
  "5m ",
  "X-A,",
  "a/",
  "https://",
];
export const TYPED_FRAMES: readonly Frame[] = [["https://", "$"], ["CN=", "\n"], ["200 ", "5m x"]];

const PEM_LINE = `${"A".repeat(64)}\n`;
export const PEM_FRAMES: readonly Frame[] = [
  ["-----BEGIN CERTIFICATE-----\n", "-----END CERTIFICATE-----\n"],
  ["-----BEGIN CERTIFICATE-----\n", ""],
  ["-----BEGIN ", "-----"],
];
export const PEM_PUMPS: readonly string[] = [
  " ",
  "\n",
  "\r",
  "-",
  "A",
  "=",
  "-----BEGIN ",
  PEM_LINE,
  "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
  "-----BEGIN A-----\n-----END A-----\n",
  "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
];
