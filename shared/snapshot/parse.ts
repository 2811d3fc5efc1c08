/**
 * Reading a configuration. In: the text of a file: our own snapshot, of this format or the one
 * before, or the `proxy.json` of the Rust controller. Out: a snapshot, and every mistake with its
 * JSON path and a remedy.
 *
 * Our own format is written by a program, so it is whole or nothing: any error but an over-long
 * path refuses the file. The old one was often written by people: there a bad rule costs itself.
 */
import type { Static } from "typebox";
import {
  ConfigCheck,
  type ConfigProblem,
  describe,
  isObject,
  type JsonObject,
  kindOf,
} from "./config_check.ts";
import { locateJsonError } from "../json_error.ts";
import { byPathOfHost, fromFormat1 } from "./format1.ts";
import { legacySnapshot } from "./legacy_config.ts";
import { KNOWN_LISTENERS } from "./listener_id.ts";
import type { Frozen } from "./schema_hints.ts";
import { readNode } from "./node_reader.ts";
import { FORMAT_1, type PublishedSet, readSet } from "./published_set.ts";
import { type PartList, type Snapshot, SNAPSHOT_FORMAT, type SnapshotVersion } from "./types.ts";
import { strayCertificate, strayOfAction } from "./references.ts";
import { RouteReader } from "./route.ts";
import * as schema from "./schema.ts";

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
  if (root.format === FORMAT_1 && !isOld) {
    const snapshot = readSnapshot(fromFormat1(root), check);
    return snapshot && { ...snapshot, routes: byPathOfHost(snapshot.routes) };
  }
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
  const isKnown = root.format === SNAPSHOT_FORMAT || root.format === FORMAT_1;
  if (!isKnown || root.set === undefined) return null;
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

/** Fields of the file that are no content. */
const ENVELOPE = ["set"];

function readSnapshot(root: JsonObject, check: ConfigCheck): Snapshot | null {
  check.unknownFields(root, "$", [...Object.keys(schema.SNAPSHOT.properties), ...ENVELOPE]);
  const lists = {
    listeners: readList(schema.LISTENER, root.listeners, "$.listeners", check),
    hostSettings: readList(schema.HOST_SETTINGS, root.hostSettings, "$.hostSettings", check),
    filterSets: readList(schema.FILTER_SET, root.filterSets, "$.filterSets", check),
    policies: readList(schema.POLICY, root.policies, "$.policies", check),
    upstreams: readList(schema.UPSTREAM, root.upstreams, "$.upstreams", check),
    credentials: readList(schema.CREDENTIALS, root.credentials, "$.credentials", check),
    certificates: readList(schema.CERTIFICATE, root.certificates, "$.certificates", check),
  } satisfies Readonly<Record<PartList, unknown>>;
  const known = {
    upstreams: lists.upstreams.ids,
    filterSets: lists.filterSets.ids,
    policies: lists.policies.ids,
    listeners: lists.listeners.ids.union(KNOWN_LISTENERS),
  };
  const routeReader = new RouteReader(known, check);
  const routes = routeReader.settle(check.array(
    root.routes,
    "$.routes",
    "refused",
    (value, path) => routeReader.read(value, path),
  ));
  for (const [i, listener] of lists.listeners.parts.entries()) {
    const stray = strayCertificate(listener, lists.certificates.ids);
    if (stray) check.refuse(`$.listeners[${i}].${stray.field}`, stray.message, stray.remedy);
  }
  const rest = readRest(root, check);
  if (rest === null) return null;
  const { defaultAction, defaultCertificate } = rest;
  const stray = defaultAction && strayOfAction(defaultAction, "$.defaultAction", known);
  if (stray) check.refuse(stray.field, stray.message, stray.remedy);
  if (defaultCertificate !== null && !lists.certificates.ids.has(defaultCertificate)) {
    check.refuse(
      "$.defaultCertificate",
      `${describe(defaultCertificate)} is the id of no certificate`,
      "write the id of one, or null for none",
    );
  }
  const present = Object.entries(lists).filter(([name]) => root[name] !== undefined);
  return {
    upstreams: [],
    certificates: [],
    ...rest,
    ...Object.fromEntries(present.map(([name, { parts }]) => [name, parts])),
    version: readVersion(root.version, check),
    routes,
  };
}

/** Parts that each have an id; a missing list is empty. */
function readList<S extends typeof PARTS[number]>(
  schema: S,
  value: unknown,
  path: string,
  check: ConfigCheck,
): { readonly parts: Frozen<Static<S>>[]; readonly ids: ReadonlySet<string> } {
  const ids = new Set<string>();
  const parts = check.array(value, path, "empty", (element, place) => {
    const part = readNode(schema, element, place, check);
    const id = isObject(element) ? element.id : undefined;
    if (typeof id !== "string" || id === "") return part;
    if (ids.has(id)) {
      return check.refuse(
        `${place}.id`,
        `another has the id ${describe(id)}`,
        "remove one of the two",
      );
    }
    // Even of one that is refused, so that routes to it are not reported too.
    ids.add(id);
    return part;
  });
  return { parts, ids };
}

const PARTS = [
  schema.LISTENER,
  schema.HOST_SETTINGS,
  schema.FILTER_SET,
  schema.POLICY,
  schema.UPSTREAM,
  schema.CREDENTIALS,
  schema.CERTIFICATE,
] as const;

/** What is neither a list of parts nor the version; null where it cannot be read. */
export function readRest(fields: JsonObject, check: ConfigCheck) {
  const present = Object.entries(fields).filter(([name, value]) =>
    Object.hasOwn(schema.REST.properties, name) && (value !== null || name.startsWith("default"))
  );
  return readNode(schema.REST, Object.fromEntries(present), "$", check);
}

/** One that is missing is that of a file. Its path is `$.version`. */
export function readVersion(value: unknown, check: ConfigCheck): SnapshotVersion {
  const version = value === undefined
    ? schema.VERSION_OF_FILE
    : readNode(schema.VERSION, value, "$.version", check);
  return version ?? schema.VERSION_OF_FILE;
}
