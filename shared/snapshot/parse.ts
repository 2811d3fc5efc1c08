/**
 * Reading a configuration. In: the text of a file, either our own snapshot or the `proxy.json` of
 * the Rust controller. Out: a snapshot, and every mistake with its JSON path and a remedy.
 *
 * Our own format is written by a program, so it is whole or nothing: any error but an over-long
 * path refuses the file. The old one was often written by people: there a bad rule costs itself.
 */
import { CidrList } from "../net/cidr.ts";
import {
  ConfigCheck,
  type ConfigProblem,
  describe,
  isObject,
  type JsonObject,
  kindOf,
} from "./config_check.ts";
import { locateJsonError } from "../json_error.ts";
import { legacySnapshot } from "./legacy_config.ts";
import { isLoopMark } from "../loop_mark.ts";
import { type PublishedSet, readSet } from "./published_set.ts";
import { type Snapshot, SNAPSHOT_FORMAT, type SnapshotVersion } from "./types.ts";
import { readCertificate } from "./certificate.ts";
import { RouteReader } from "./route.ts";
import { readUpstream } from "./upstream.ts";

export type { ConfigProblem } from "./config_check.ts";

export interface ParsedSnapshot {
  /** Null where the file as a whole cannot be used; then at least one problem is an error. */
  readonly snapshot: Snapshot | null;
  readonly problems: readonly ConfigProblem[];
  /**
   * What else belongs to the file, where a controller has published it; null also where that
   * cannot be read. With parts, the file is only their index: `snapshot` is null, and the text that
   * the parts make up is the one to read.
   */
  readonly set: PublishedSet | null;
}

export interface ParseOptions {
  /** `cluster.local`: makes `<name>.<namespace>.svc.cluster.local` of the old format's backends. */
  readonly clusterDomain?: string;
}

/** Never throws, whatever the text. */
export function parseSnapshot(text: string, options: ParseOptions = {}): ParsedSnapshot {
  const check = new ConfigCheck();
  const root = readJson(text, check);
  const set = isObject(root) ? readSetOf(root, check) : null;
  const snapshot = root === undefined || check.refused
    ? null
    : set !== null && set.parts.length > 0
    ? refuseIndex(set, check)
    : readRoot(root, check, options);
  return { snapshot: check.refused ? null : snapshot, problems: check.problems(), set };
}

/** Undefined where the text is no JSON. */
function readJson(text: string, check: ConfigCheck): unknown {
  const json = text.startsWith("\ufeff") ? text.slice(1) : text;
  if (json.trim() === "") {
    check.refuse("$", "the file is empty", "write a snapshot or a proxy.json into it");
    return undefined;
  }
  try {
    return JSON.parse(json);
  } catch {
    const error = locateJsonError(json);
    const place = error === null
      ? ""
      : `: line ${error.line}, column ${error.column}: ${error.message}`;
    check.refuse(
      "$",
      `the file is not JSON${place}`,
      error?.endsEarly
        ? "write the rest of it; to replace a file that is in use, write another and rename it"
        : "correct it at that place",
    );
    return undefined;
  }
}

function readRoot(root: unknown, check: ConfigCheck, options: ParseOptions): Snapshot | null {
  if (!isObject(root)) {
    return check.refuse("$", `an object is needed, not ${kindOf(root)}`, "write {…}");
  }
  const isOld = Object.hasOwn(root, "rules");
  if (isOld && !Object.hasOwn(root, "format")) return legacySnapshot(root, check, options);
  if (root.format === SNAPSHOT_FORMAT && !isOld) return readSnapshot(root, check);
  if (typeof root.format === "number" && root.format > SNAPSHOT_FORMAT) {
    return check.refuse(
      "$.format",
      `format ${root.format} is newer than ${SNAPSHOT_FORMAT}, which this proxy reads`,
      "run a proxy of the controller's version",
    );
  }
  return check.refuse(
    "$",
    "it is neither a snapshot nor a proxy.json",
    `write a field "format": ${SNAPSHOT_FORMAT} for a snapshot, or "rules": […] for a proxy.json`,
  );
}

/** What belongs to the file; null for most, which stand alone, and where it cannot be read. */
function readSetOf(root: JsonObject, check: ConfigCheck): PublishedSet | null {
  if (root.format !== SNAPSHOT_FORMAT || root.set === undefined) return null;
  const set = readSet(root.set, "$.set", check);
  if (set !== null && set.parts.length > 0) {
    check.unknownFields(root, "$", ["format", "version", "set"]);
    readVersion(root.version, check);
  }
  return check.refused ? null : set;
}

/** An index is no snapshot: whoever does not read its parts is told where that is. */
function refuseIndex({ parts }: PublishedSet, check: ConfigCheck): null {
  const files = parts.length === 1 ? "another file" : `${parts.length} other files`;
  return check.refuse(
    "$.set.parts",
    `the snapshot itself is in ${files}, ${parts[0].path} first`,
    "read it in a folder with all of them",
  );
}

function readSnapshot(root: JsonObject, check: ConfigCheck): Snapshot {
  check.unknownFields(root, "$", [
    "format",
    "version",
    "set",
    "routes",
    "defaultAction",
    "upstreams",
    "certificates",
    "defaultCertificate",
    "loopMark",
    "denied",
  ]);
  const upstreamIds = new Set<string>();
  const upstreams = check.array(
    root.upstreams,
    "$.upstreams",
    "empty",
    (value, path) => readUpstream(value, path, upstreamIds, check),
  );
  const certificateIds = new Set<string>();
  const certificates = check.array(
    root.certificates,
    "$.certificates",
    "empty",
    (value, path) => readCertificate(value, path, certificateIds, check),
  );
  const routeReader = new RouteReader(upstreamIds, check);
  const routes = routeReader.settle(check.array(
    root.routes,
    "$.routes",
    "refused",
    (value, path) => routeReader.read(value, path),
  ));
  const defaultCertificate = root.defaultCertificate ?? null;
  if (defaultCertificate !== null && !certificateIds.has(defaultCertificate as string)) {
    check.refuse(
      "$.defaultCertificate",
      `${describe(defaultCertificate)} is the id of no certificate`,
      "write the id of one, or null for none",
    );
  }
  return {
    format: SNAPSHOT_FORMAT,
    version: readVersion(root.version, check),
    routes,
    defaultAction: root.defaultAction === undefined || root.defaultAction === null
      ? null
      : routeReader.readAction(root.defaultAction, "$.defaultAction"),
    upstreams,
    certificates,
    defaultCertificate: defaultCertificate as string | null,
    ...readLoopMark(root.loopMark, check),
    ...readDenied(root.denied, check),
  };
}

/** The field of a snapshot; none where it is missing or cannot be read. */
export function readLoopMark(value: unknown, check: ConfigCheck): Pick<Snapshot, "loopMark"> {
  if (value === undefined || value === null) return {};
  if (typeof value === "string" && isLoopMark(value)) return { loopMark: value };
  check.refuse(
    "$.loopMark",
    `${describe(value)} is no mark for CDN-Loop`,
    "write 1 to 64 letters, digits and hyphens, or leave it out",
  );
  return {};
}

/** One that is missing is that of a file. Its path is `$.version`. */
export function readVersion(value: unknown, check: ConfigCheck): SnapshotVersion {
  const unversioned = { epoch: "file", seen: {} };
  if (value === undefined) return unversioned;
  const version = check.object(value, "$.version", ["epoch", "seen"]);
  if (version === null) return unversioned;
  const epoch = check.name(version.epoch, "$.version.epoch");
  if (!isObject(version.seen)) {
    check.refuse(
      "$.version.seen",
      `an object is needed, not ${kindOf(version.seen)}`,
      "write {…}",
    );
    return unversioned;
  }
  for (const [kind, revision] of Object.entries(version.seen)) {
    if (typeof revision === "string" && /^[0-9]+$/.test(revision)) continue;
    check.refuse(
      `$.version.seen[${JSON.stringify(kind.slice(0, 63))}]`,
      `${describe(revision)} is no resource version`,
      "write decimal digits as a text",
    );
  }
  // A copy by definition, not assignment: a kind called __proto__ is a kind like others.
  return {
    epoch: epoch ?? "",
    seen: Object.fromEntries(Object.entries(version.seen)) as Record<string, string>,
  };
}

/** Refuses what is no list of addresses and networks: to leave one out would allow it. */
export function readDenied(value: unknown, check: ConfigCheck): Pick<Snapshot, "denied"> {
  if (value === undefined || value === null) return {};
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isGood = (one: unknown): one is string =>
    typeof one === "string" && one !== "" && !one.includes(",") &&
    typeof CidrList.parse(one) !== "string";
  const bad = Array.isArray(value) ? list.findIndex((one) => !isGood(one)) : 0;
  if (bad === -1) return { denied: list.filter(isGood) };
  check.refuse(
    Array.isArray(value) ? `$.denied[${bad}]` : "$.denied",
    `${describe(list[bad])} is no address or network`,
    "write a list of addresses such as 192.0.2.1 and networks such as 10.96.0.0/12",
  );
  return {};
}
