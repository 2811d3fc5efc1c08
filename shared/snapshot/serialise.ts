/**
 * Writing a snapshot. In: a snapshot. Out: its JSON, which `parseSnapshot` reads back; the same
 * snapshot gives the same bytes, in whatever order its objects got their fields.
 */
import { plainSet, type PublishedSet } from "./published_set.ts";
import type {
  Action,
  Certificate,
  Endpoint,
  Origin,
  Route,
  Snapshot,
  SnapshotVersion,
  Upstream,
  UpstreamTls,
} from "./types.ts";

export interface SerialiseOptions {
  /** What belongs to the file; see `published_set.ts`. */
  readonly set?: PublishedSet;
  /** Write private keys as they are. Only for a destination that may hold them. */
  readonly revealKeys: boolean;
}

/** JSON without white space. Keys are "[redacted]" unless revealed; such a file cannot be read back. */
export function serialiseSnapshot(snapshot: Snapshot, options: SerialiseOptions): string {
  const { format, version, routes, defaultAction, upstreams, certificates } = snapshot;
  const before = JSON.stringify({ format, version: plainVersion(version) });
  const action = defaultAction === null ? null : plainAction(defaultAction);
  const after = JSON.stringify({
    defaultCertificate: snapshot.defaultCertificate,
    loopMark: snapshot.loopMark,
    denied: snapshot.denied,
    set: options.set === undefined ? undefined : plainSet(options.set),
  });
  // Joined once, as each text of megabytes on the way is garbage that is collected late.
  const pieces = [before.slice(0, -1)];
  pushList(pieces, ',"routes":[', routes, ROUTES.of);
  pieces.push(`],"defaultAction":${JSON.stringify(action)}`);
  pushList(pieces, ',"upstreams":[', upstreams, UPSTREAMS.of);
  const textOf = options.revealKeys ? certificateText : KEYLESS.of;
  pushList(pieces, '],"certificates":[', certificates, textOf);
  pieces.push("],", after.slice(1));
  return pieces.join("");
}

function pushList<T>(
  pieces: string[],
  begin: string,
  parts: readonly T[],
  textOf: (part: T) => string,
): void {
  let before = begin;
  for (const part of parts) {
    pieces.push(before, textOf(part));
    before = ",";
  }
  if (parts.length === 0) pieces.push(begin);
}

/**
 * The JSON of parts that never change once they are made. Of many thousands hardly any is new when
 * a snapshot follows another, and writing the others again is most of the work.
 */
class PartTexts<T extends object> {
  readonly #texts = new WeakMap<T, string>();
  readonly #plain: (part: T) => object;

  constructor(plain: (part: T) => object) {
    this.#plain = plain;
  }

  readonly of = (part: T): string => {
    let text = this.#texts.get(part);
    if (text === undefined) {
      text = JSON.stringify(this.#plain(part));
      this.#texts.set(part, text);
    }
    return text;
  };
}

const ROUTES = new PartTexts(plainRoute);
const UPSTREAMS = new PartTexts(plainUpstream);
/** Without keys: a text that has one is not kept. */
const KEYLESS = new PartTexts((one: Certificate) => plainCertificate(one, false));

/** The JSON of a route as it stands in that of its snapshot. */
export const routeText = ROUTES.of;

/** The JSON of an upstream. */
export const upstreamText = UPSTREAMS.of;

/** The JSON of a certificate with its key, for a destination that may hold it; made anew each time. */
export function certificateText(certificate: Certificate): string {
  return JSON.stringify(plainCertificate(certificate, true));
}

/** The JSON of a version. */
export function versionText(version: SnapshotVersion): string {
  return JSON.stringify(plainVersion(version));
}

/** The JSON of what is neither a list nor the version. */
export function restText(snapshot: Snapshot): string {
  const { format, defaultAction, defaultCertificate, loopMark, denied } = snapshot;
  const action = defaultAction === null ? null : plainAction(defaultAction);
  return JSON.stringify({ format, defaultAction: action, defaultCertificate, loopMark, denied });
}

/** The first file of a configuration whose snapshot is in the parts of `set`, as JSON. */
export function serialiseIndex({ format, version }: Snapshot, set: PublishedSet): string {
  return JSON.stringify({ format, version: plainVersion(version), set: plainSet(set) });
}

function plainVersion({ epoch, seen }: SnapshotVersion) {
  const kinds = Object.keys(seen).sort();
  return { epoch, seen: Object.fromEntries(kinds.map((kind) => [kind, seen[kind]])) };
}

function plainRoute({ id, host, path, action, origin }: Route) {
  return {
    id,
    host,
    path: { type: path.type, value: path.value },
    action: plainAction(action),
    origin: plainOrigin(origin),
  };
}

function plainAction(action: Action) {
  return action.kind === "forward" ? { kind: action.kind, upstream: action.upstream } : {
    kind: action.kind,
    status: action.status,
    reason: action.reason,
    ...(action.closed ? { closed: action.closed } : {}),
  };
}

function plainOrigin({ kind, namespace, name, field }: Origin) {
  return { kind, namespace, name, field };
}

function plainUpstream({ id, protocol, addresses, tls, balance, grpcWeb }: Upstream) {
  return {
    id,
    protocol,
    addresses: addresses.kind === "dns"
      ? { kind: addresses.kind, name: addresses.name, port: addresses.port }
      : { kind: addresses.kind, endpoints: addresses.endpoints.map(plainEndpoint) },
    tls: tls === undefined ? undefined : plainUpstreamTls(tls),
    balance,
    grpcWeb,
  };
}

function plainUpstreamTls({ serverName, ca, clientCertificate, verify }: UpstreamTls) {
  return {
    serverName,
    ca: ca === undefined ? undefined : { kind: ca.kind, pem: ca.pem },
    clientCertificate,
    verify,
  };
}

function plainEndpoint({ address, port, zone, hints }: Endpoint) {
  return { address, port, zone, hints };
}

function plainCertificate(certificate: Certificate, revealKeys: boolean) {
  const { id, hosts, plain, chain, key, origin } = certificate;
  return {
    id,
    hosts,
    plain,
    chain: chain.kind === "file"
      ? { kind: chain.kind, path: chain.path }
      : { kind: chain.kind, pem: chain.pem },
    key: key.kind === "file"
      ? { kind: key.kind, path: key.path }
      : { kind: key.kind, pem: revealKeys ? key.pem.reveal() : key.pem.toJSON() },
    origin: plainOrigin(origin),
  };
}
