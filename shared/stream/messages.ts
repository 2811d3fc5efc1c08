/**
 * The lines of the stream between controller and proxy. In: a line, from a peer of any version. Out:
 * the message that it is, or why it is none; and the other way round for all but configurations,
 * which `change.ts` writes.
 *
 * A field that is not known here is ignored, and so is a message of an unknown kind.
 */
import { ConfigCheck, isObject, type JsonObject, kindOf } from "../snapshot/config_check.ts";
import { isSha256 } from "../snapshot/published_set.ts";
import { Redacted, type Secret } from "../redacted.ts";
import type { SnapshotVersion } from "../snapshot/types.ts";
import { readVersion } from "../snapshot/parse.ts";
import { MAX_OBSTACLES, type SocketObstacle } from "./socket_obstacle.ts";

/** What a controller says. */
export type Update =
  | HelloUpdate
  | SnapshotMessage
  | SameMessage
  | DeltaMessage
  | PingMessage
  | ByeMessage
  | UnknownMessage;

/** The first line of a controller. */
export interface HelloUpdate {
  readonly kind: "hello";
  /** Which of its replicas it is: the name of its pod, or what else it is known by. */
  readonly controller: string;
  /** Its version, as `shared/version.ts` of its build says. */
  readonly build: string;
  /** A ping comes after so many ms without anything else. */
  readonly heartbeat: number;
  /** Of the proxy's node; null where it is not known. */
  readonly zone: string | null;
}

/** The whole configuration. */
export interface SnapshotMessage {
  readonly kind: "snapshot";
  readonly version: SnapshotVersion;
  /** Content hash of what it says; see `content.ts`. */
  readonly hash: string;
  readonly content: UnreadContent;
}

/** The proxy has the content of now already, if under another version. */
export interface SameMessage {
  readonly kind: "same";
  readonly version: SnapshotVersion;
  readonly hash: string;
}

/** What has changed since the configuration with the hash `base`. */
export interface DeltaMessage {
  readonly kind: "delta";
  readonly base: string;
  readonly version: SnapshotVersion;
  /** Content hash of the result. */
  readonly hash: string;
  readonly content: UnreadContent;
}

export interface PingMessage {
  readonly kind: "ping";
}

/** The controller ends the stream: the proxy may connect again at once. */
export interface ByeMessage {
  readonly kind: "bye";
  readonly reason: string;
}

/** Of a newer peer: to be ignored, and told of once. */
export interface UnknownMessage {
  readonly kind: "unknown";
  /** The beginning of the `kind` that it has. */
  readonly name: string;
}

/** What a proxy says. */
export type Report =
  | HelloReport
  | AppliedReport
  | RefusedReport
  | LostReport
  | AliveReport
  | UnknownMessage;

/** The first line of a proxy. */
export interface HelloReport {
  readonly kind: "hello";
  /** Its version, as `shared/version.ts` of its build says. */
  readonly proxy: string;
  /** Of snapshots that it can read. */
  readonly formats: readonly number[];
  /** Of what is in force; null where nothing is. */
  readonly version: SnapshotVersion | null;
  /** Content hash of what is in force; null where nothing is, or it is not known. */
  readonly hash: string | null;
}

/** An update is in force. */
export interface AppliedReport {
  readonly kind: "applied";
  readonly version: SnapshotVersion;
  readonly hash: string;
  /** Sorted by socket; missing where every listener has its socket, and from older proxies. */
  readonly obstacles?: readonly SocketObstacle[];
}

/** An update was read and did not come into force; it still is the base of the next delta. */
export interface RefusedReport {
  readonly kind: "refused";
  readonly version: SnapshotVersion;
  readonly hash: string;
  /** One line. */
  readonly reason: string;
  readonly code: RefusalCode;
}

/**
 * `older` than what is in force, or neither newer nor older; `empty` where something is in force;
 * `invalid`: cannot be understood; `loss`: too many routes would go at once; `failed`: accepted, and
 * then it could not be put into force.
 */
export type RefusalCode = typeof REFUSAL_CODES[number];

export const REFUSAL_CODES = ["older", "empty", "invalid", "loss", "failed"] as const;

/** The proxy does not know what it was sent: it needs the whole configuration again. */
export interface LostReport {
  readonly kind: "lost";
  readonly reason: string;
}

/** The proxy is there, and still may be. */
export interface AliveReport {
  readonly kind: "alive";
  /** The newest service-account token that it has. */
  readonly token: Secret;
  /** Of what is in force; null where nothing is. */
  readonly version: SnapshotVersion | null;
  readonly hash: string | null;
}

/** What a line is. */
export type Read<T> =
  | { readonly ok: true; readonly message: T }
  /** `reason`: one line, never a part of the line that may be secret. */
  | { readonly ok: false; readonly reason: string };

/**
 * The fields of a message with a configuration, not yet looked at. They hold private keys as they
 * are, so they show themselves nowhere.
 */
export class UnreadContent {
  readonly #fields: JsonObject;

  constructor(fields: JsonObject) {
    this.#fields = fields;
  }

  /** As they came. */
  reveal(): JsonObject {
    return this.#fields;
  }

  toJSON(): string {
    return "[unread]";
  }
}

/** One line as a proxy writes it, with its end. The token of `alive` is in it as it is. */
export function reportLine(report: Exclude<Report, UnknownMessage>): string {
  switch (report.kind) {
    case "alive":
      return lineOf({ ...report, token: report.token.reveal() });
    case "applied":
      return lineOf(appliedFields(report));
    case "refused":
    case "lost":
      return lineOf({ ...report, reason: oneLine(report.reason) });
    default:
      return lineOf(report);
  }
}

/** One line as a controller writes it, with its end; of those without a configuration. */
export function updateLine(update: HelloUpdate | PingMessage | ByeMessage): string {
  return lineOf(update);
}

/** A line of a controller. Never throws. */
export function readUpdate(line: string): Read<Update> {
  return readLine(line, (fields, kind, check): Update | null => {
    switch (kind) {
      case "hello":
        return readHelloUpdate(fields, check);
      case "ping":
        return { kind };
      case "bye":
        return { kind, reason: readReason(fields) };
      case "same":
      case "snapshot":
      case "delta": {
        const version = readVersionOf(fields, check);
        const hash = readHash(fields.hash, "$.hash", check);
        if (version === null || hash === null) return null;
        if (kind === "same") return { kind, version, hash };
        const content = new UnreadContent(fields);
        if (kind === "snapshot") return { kind, version, hash, content };
        const base = readHash(fields.base, "$.base", check);
        return base === null ? null : { kind, base, version, hash, content };
      }
      default:
        return { kind: "unknown", name: shorten(kind) };
    }
  });
}

/** A line of a proxy. Never throws. */
export function readReport(line: string): Read<Report> {
  return readLine(line, (fields, kind, check): Report | null => {
    switch (kind) {
      case "hello":
        return readHelloReport(fields, check);
      case "lost":
        return { kind, reason: readReason(fields) };
      case "alive": {
        const token = check.name(fields.token, "$.token");
        const version = readVersionOrNull(fields, check);
        const hash = readHashOrNull(fields, check);
        return token === null ? null : { kind, token: new Redacted(token), version, hash };
      }
      case "applied":
      case "refused": {
        const version = readVersionOf(fields, check);
        const hash = readHash(fields.hash, "$.hash", check);
        if (version === null || hash === null) return null;
        if (kind === "applied") {
          const obstacles = readObstacles(fields, check);
          return { kind, version, hash, ...(obstacles.length === 0 ? {} : { obstacles }) };
        }
        return { kind, version, hash, reason: readReason(fields), code: codeOf(fields) };
      }
      default:
        return { kind: "unknown", name: shorten(kind) };
    }
  });
}

function readHelloUpdate(fields: JsonObject, check: ConfigCheck): HelloUpdate | null {
  const controller = check.string(fields.controller, "$.controller");
  const build = check.string(fields.build, "$.build");
  const heartbeat = fields.heartbeat;
  const zone = fields.zone ?? null;
  if (typeof heartbeat !== "number" || !Number.isSafeInteger(heartbeat) || heartbeat < 1) {
    return check.refuse("$.heartbeat", "a number of ms is needed", "write how often it pings");
  }
  if (zone !== null && check.string(zone, "$.zone") === null) return null;
  if (controller === null || build === null) return null;
  return {
    kind: "hello",
    controller: shorten(controller),
    build: shorten(build),
    heartbeat,
    zone: zone as string | null,
  };
}

function readHelloReport(fields: JsonObject, check: ConfigCheck): HelloReport | null {
  const proxy = check.string(fields.proxy, "$.proxy");
  const isFormat = (format: unknown, path: string) =>
    typeof format === "number"
      ? format
      : check.refuse(path, `a number is needed, not ${kindOf(format)}`, "write a format");
  const formats = check.array(fields.formats, "$.formats", "refused", isFormat);
  const version = readVersionOrNull(fields, check);
  const hash = readHashOrNull(fields, check);
  return proxy === null ? null : { kind: "hello", proxy: shorten(proxy), formats, version, hash };
}

function appliedFields({ obstacles = [], ...fields }: AppliedReport): object {
  if (obstacles.length === 0) return fields;
  const shown = obstacles.slice(0, MAX_OBSTACLES).map(({ socket, reason }) => {
    return { socket, reason: oneLine(reason).slice(0, MAX_OBSTACLE_REASON) };
  });
  return { ...fields, obstacles: shown };
}

function readObstacles(fields: JsonObject, check: ConfigCheck): SocketObstacle[] {
  const list = check.array(fields.obstacles, "$.obstacles", "empty", (value, path) => {
    const obstacle = isObject(value)
      ? value
      : check.refuse(path, `an object is needed, not ${kindOf(value)}`, "write {…} here");
    if (obstacle === null) return null;
    const socket = check.name(obstacle.socket, `${path}.socket`);
    return socket === null ? null : { socket: shorten(socket), reason: readReason(obstacle) };
  });
  return list.slice(0, MAX_OBSTACLES);
}

function readLine<T>(
  line: string,
  read: (fields: JsonObject, kind: string, check: ConfigCheck) => T | null,
): Read<T> {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    // Not the engine's words: they quote the line, which may hold a key.
    return { ok: false, reason: "the line is not JSON" };
  }
  if (!isObject(fields)) {
    return { ok: false, reason: `an object is needed, not ${kindOf(fields)}` };
  }
  const check = new ConfigCheck();
  const kind = check.name(fields.kind, "$.kind");
  const message = kind === null ? null : read(fields, kind, check);
  if (message !== null && !check.refused) return { ok: true, message };
  const problem = check.problems().find(({ severity }) => severity === "error");
  return { ok: false, reason: `${problem?.path}: ${problem?.message}` };
}

/** Unlike a file, a message always has one. */
function readVersionOf(fields: JsonObject, check: ConfigCheck): SnapshotVersion | null {
  if (fields.version === undefined) {
    return check.refuse("$.version", "it is missing", "write the version");
  }
  const version = readVersion(fields.version, check);
  const isLong = Object.values(version.seen).some((seen) => seen.length > MAX_DIGITS);
  return isLong
    ? check.refuse("$.version.seen", "a resource version is too long", "write fewer digits")
    : version;
}

function readVersionOrNull(fields: JsonObject, check: ConfigCheck): SnapshotVersion | null {
  return (fields.version ?? null) === null ? null : readVersionOf(fields, check);
}

function readHash(value: unknown, path: string, check: ConfigCheck): string | null {
  if (isSha256(value)) return value;
  return check.refuse(path, "it is no content hash", "write 64 hexadecimal digits in lower case");
}

function readHashOrNull(fields: JsonObject, check: ConfigCheck): string | null {
  return (fields.hash ?? null) === null ? null : readHash(fields.hash, "$.hash", check);
}

/** Missing or wrong, it is empty: no message is lost for the sake of its reason. */
function readReason({ reason }: JsonObject): string {
  return typeof reason === "string" ? oneLine(reason) : "";
}

/** Of a newer proxy there may be others. */
function codeOf({ code }: JsonObject): RefusalCode {
  return REFUSAL_CODES.find((known) => known === code) ?? "failed";
}

/** Digits of a resource version; those of Kubernetes have 39 at the most. */
const MAX_DIGITS = 64;

/** Characters of the reason of an obstacle, so that a report fits `MAX_REPORT_BYTES`. */
const MAX_OBSTACLE_REASON = 80;

/** Characters of names and of reasons that are kept of a peer's. */
const MAX_NAME = 253;
const MAX_REASON = 1000;

function shorten(name: string): string {
  return cleaned(name).slice(0, MAX_NAME);
}

function oneLine(reason: string): string {
  return cleaned(reason.slice(0, MAX_REASON)).trim();
}

/** It ends up in logs, tables and metrics. */
function cleaned(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, " ");
}

function lineOf(message: object): string {
  return `${JSON.stringify(message)}\n`;
}
