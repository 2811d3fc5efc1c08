/**
 * Writing a snapshot. In: a snapshot. Out: its JSON, which `parseSnapshot` reads back; the same
 * snapshot gives the same bytes, in whatever order its objects got their fields.
 */
import type { TSchema } from "typebox";
import { nodeText } from "./node_writer.ts";
import { plainSet, type PublishedSet } from "./published_set.ts";
import * as schema from "./schema.ts";
import type {
  Certificate,
  Credentials,
  FilterSet,
  HostSettings,
  Listener,
  PartList,
  Policy,
  Rest,
  Route,
  Snapshot,
  SnapshotVersion,
  Upstream,
} from "./types.ts";

export interface SerialiseOptions {
  /** What belongs to the file; see `published_set.ts`. */
  readonly set?: PublishedSet;
  /** Write private keys as they are. Only for a destination that may hold them. */
  readonly revealKeys: boolean;
}

/** JSON without white space. Keys are "[redacted]" unless revealed; such a file cannot be read back. */
export function serialiseSnapshot(snapshot: Snapshot, options: SerialiseOptions): string {
  // All lists of parts, so that one with secrets cannot be written without them by mistake.
  const texts: Readonly<Record<PartList | "routes", (part: never) => string>> = {
    listeners: listenerText,
    hostSettings: hostSettingsText,
    routes: routeText,
    filterSets: filterSetText,
    policies: policyText,
    upstreams: upstreamText,
    credentials: options.revealKeys ? credentialsText : credentialsTextWithoutUsers,
    certificates: options.revealKeys ? certificateText : KEYLESS.of,
  };
  // Joined once, as each text of megabytes on the way is garbage that is collected late.
  const pieces: string[] = [];
  for (const [name, property] of Object.entries(schema.SNAPSHOT.properties)) {
    const value = snapshot[name as keyof Snapshot];
    if (value === undefined) continue;
    pieces.push(`${pieces.length === 0 ? "{" : ","}"${name}":`);
    const textOf = Object.hasOwn(texts, name) ? texts[name as keyof typeof texts] : null;
    if (textOf !== null) pushList(pieces, value as readonly never[], textOf);
    else pieces.push(nodeText(property as TSchema, value));
  }
  pieces.push(options.set === undefined ? "}" : `,"set":${JSON.stringify(plainSet(options.set))}}`);
  return pieces.join("");
}

function pushList<T>(pieces: string[], parts: readonly T[], textOf: (part: T) => string): void {
  let before = "[";
  for (const part of parts) {
    pieces.push(before, textOf(part));
    before = ",";
  }
  pieces.push(parts.length === 0 ? "[]" : "]");
}

/**
 * The JSON of parts that never change once they are made. Of many thousands hardly any is new when
 * a snapshot follows another, and writing the others again is most of the work.
 */
class PartTexts<T extends object> {
  readonly #texts = new WeakMap<T, string>();
  readonly #write: (part: T) => string;

  constructor(write: (part: T) => string) {
    this.#write = write;
  }

  readonly of = (part: T): string => {
    let text = this.#texts.get(part);
    if (text === undefined) this.#texts.set(part, text = this.#write(part));
    return text;
  };
}

const ROUTES = new PartTexts((one: Route) => nodeText(schema.ROUTE, one));
const UPSTREAMS = new PartTexts((one: Upstream) => nodeText(schema.UPSTREAM, one));
const FILTER_SETS = new PartTexts((one: FilterSet) => nodeText(schema.FILTER_SET, one));
const POLICIES = new PartTexts((one: Policy) => nodeText(schema.POLICY, one));
const LISTENERS = new PartTexts((one: Listener) => nodeText(schema.LISTENER, one));
const HOST_SETTINGS = new PartTexts((one: HostSettings) => nodeText(schema.HOST_SETTINGS, one));
/** Without keys: a text that has one is not kept. */
const KEYLESS = new PartTexts((one: Certificate) => nodeText(schema.CERTIFICATE, one));

/** The JSON of a part as it stands in that of its snapshot. */
export const routeText = ROUTES.of;
export const upstreamText = UPSTREAMS.of;
export const filterSetText = FILTER_SETS.of;
export const policyText = POLICIES.of;
export const listenerText = LISTENERS.of;
export const hostSettingsText = HOST_SETTINGS.of;

/** The JSON of a certificate with its key, for a destination that may hold it; made anew each time. */
export function certificateText(certificate: Certificate): string {
  return nodeText(schema.CERTIFICATE, certificate, { revealKeys: true });
}

/** As for certificates. */
export function credentialsText(credentials: Credentials): string {
  return nodeText(schema.CREDENTIALS, credentials, { revealKeys: true });
}

function credentialsTextWithoutUsers(credentials: Credentials): string {
  return nodeText(schema.CREDENTIALS, credentials);
}

/** The JSON of a version. */
export function versionText(version: SnapshotVersion): string {
  return nodeText(schema.VERSION, version);
}

/** The JSON of what is neither a list of parts nor the version. */
export function restText(snapshot: Snapshot): string {
  return nodeText(schema.REST, restOf(snapshot));
}

/** The fields of a snapshot that the schema of the rest names. */
export function restOf(snapshot: Snapshot): Rest {
  const fields: Readonly<Record<string, unknown>> = { ...snapshot };
  const rest = Object.keys(schema.REST.properties).filter((name) => fields[name] !== undefined);
  return Object.fromEntries(rest.map((name) => [name, fields[name]])) as unknown as Rest;
}

/** The first file of a configuration whose snapshot is in the parts of `set`, as JSON. */
export function serialiseIndex({ format, version }: Snapshot, set: PublishedSet): string {
  const head = JSON.stringify({ format });
  return `${head.slice(0, -1)},"version":${versionText(version)},"set":${
    JSON.stringify(plainSet(set))
  }}`;
}
