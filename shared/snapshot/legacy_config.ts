/**
 * The `proxy.json` of the Rust controller. In: its JSON, `{"rules": [{host, path, backend, tls}]}`.
 * Out: the snapshot that means the same.
 *
 * A bad rule costs itself: one whose host or path cannot be read is left out; one whose backend or
 * path type cannot be understood stays and answers 503 or 500, or a broader rule would take its
 * traffic. For the same reason a host that is left without any rule answers 404. Where the Rust proxy was wrong we are not: `/foo` never takes `/foobar`, a host may have
 * several paths, and `*.example.com` stands for exactly one label.
 */
import {
  type ConfigCheck,
  describe,
  isObject,
  isPort,
  type JsonObject,
  kindOf,
} from "./config_check.ts";
import { emptyHostRoute } from "./empty_host.ts";
import { forwardTo } from "./forward_action.ts";
import { parseHostPattern } from "../host/host_pattern.ts";
import { readRoutePath } from "./route_path.ts";
import {
  type Action,
  type Certificate,
  type Origin,
  type PathMatch,
  type PemFile,
  type ReplyAction,
  type Route,
  type Snapshot,
  SNAPSHOT_FORMAT,
  type Upstream,
} from "./types.ts";

export interface LegacyOptions {
  /** `cluster.local`, for names with it; without one they are `<name>.<namespace>`. */
  readonly clusterDomain?: string;
}

/** One DNS label; `_` occurs where names come from elsewhere than a cluster. */
const LABEL = /^[A-Za-z0-9_-]{1,63}$/;

/** Null where `rules` is no array, which is reported. */
export function legacySnapshot(
  root: JsonObject,
  check: ConfigCheck,
  options: LegacyOptions,
): Snapshot | null {
  check.unknownFields(root, "$", ["rules"]);
  if (!Array.isArray(root.rules)) {
    const message = `an array is needed, not ${kindOf(root.rules)}`;
    return check.refuse("$.rules", message, "write […] here");
  }
  const reader = new RuleReader(check, options.clusterDomain);
  root.rules.forEach((rule, i) => reader.read(rule, `$.rules[${i}]`));
  return reader.snapshot();
}

/** A certificate while rules still add hosts to it. */
interface FileCertificate extends Certificate {
  readonly hosts: string[];
  readonly key: PemFile;
}

class RuleReader {
  #check: ConfigCheck;
  #domain: string;
  /** By id, which is host and path. */
  #routes = new Map<string, Route>();
  /** Hosts that can be read, each with the rule that names it first. */
  #hosts = new Map<string, Origin>();
  #upstreams = new Map<string, Upstream>();
  /** By the path of the chain's file. */
  #certificates = new Map<string, FileCertificate>();
  /** Which certificate a host has; "*" has the default one. */
  #certificateOf = new Map<string, FileCertificate>();

  constructor(check: ConfigCheck, clusterDomain: string | undefined) {
    this.#check = check;
    this.#domain = clusterDomain === undefined ? "" : `.svc.${clusterDomain}`;
  }

  read(value: unknown, path: string): void {
    if (!isObject(value)) {
      const message = `an object is needed, not ${kindOf(value)}; it is left out`;
      this.#check.error(path, message, 'write {"host": …, "path": …, "backend": …}');
      return;
    }
    this.#check.unknownFields(value, path, ["host", "path", "backend", "tls"]);
    const host = this.#readHost(value.host, `${path}.host`);
    if (host === null) return;
    const origin: Origin = { kind: "File", namespace: "", name: "", field: path };
    if (!this.#hosts.has(host)) this.#hosts.set(host, origin);
    if (value.tls !== undefined && value.tls !== null) {
      this.#addCertificate(value.tls, `${path}.tls`, host, origin);
    }
    const match = this.#readMatch(value.path, `${path}.path`);
    if (match === null) return;
    const id = `${host} ${match.path.type} ${match.path.value}`;
    const other = this.#routes.get(id);
    if (other !== undefined) {
      const message = `it has the host and path of ${other.origin.field}; it is left out`;
      this.#check.error(path, message, "remove one of the two");
      return;
    }
    const action = match.broken ?? this.#readBackend(value.backend, `${path}.backend`);
    this.#routes.set(id, { id, host, match: { path: match.path }, action, origin });
  }

  snapshot(): Snapshot {
    return {
      format: SNAPSHOT_FORMAT,
      version: { epoch: "file", seen: {} },
      routes: [...this.#routes.values(), ...this.#emptyHosts()].sort(byPrecedence),
      defaultAction: null,
      upstreams: [...this.#upstreams.values()].sort(byId),
      certificates: [...this.#certificates.values()].sort(byId)
        .map((certificate) => ({ ...certificate, hosts: certificate.hosts.toSorted() })),
      defaultCertificate: this.#certificateOf.get("*")?.id ?? null,
    };
  }

  #emptyHosts(): Route[] {
    const served = new Set([...this.#routes.values()].map(({ host }) => host));
    return [...this.#hosts]
      .filter(([host]) => !served.has(host))
      .map(([host, origin]) => emptyHostRoute(host, origin));
  }

  #readHost(value: unknown, path: string): string | null {
    if (value === undefined || value === null || value === "") return "*";
    const pattern = typeof value === "string"
      ? parseHostPattern(value)
      : { ok: false as const, reason: "is no text" };
    if (pattern.ok) return pattern.host;
    return this.#check.error(
      path,
      `the host ${describe(value)} ${pattern.reason}; its rule is left out`,
      "write a name such as app.example.com or *.example.com, or leave it out for any host",
    );
  }

  /** `broken` is the answer where the path can be read, but not how it is meant. */
  #readMatch(
    value: unknown,
    path: string,
  ): { readonly path: PathMatch; readonly broken: ReplyAction | null } | null {
    if (!isObject(value) || typeof value.path !== "string") {
      return this.#check.error(
        path,
        "the rule has no path and is left out",
        'write {"type": "Prefix", "path": "/"} for all paths',
      );
    }
    this.#check.unknownFields(value, path, ["type", "path"]);
    const type = value.type === "Exact" ? "Exact" : "Prefix";
    // The Rust controller writes "" for an Ingress without a path, which is any path.
    const text = type === "Prefix" && value.path === "" ? "/" : value.path;
    const read = readRoutePath(type, text);
    if (!read.ok) {
      return this.#check.error(
        `${path}.path`,
        `the path ${read.reason}; its rule is left out`,
        read.tooLong ? "shorten it" : "write it as a client sends it",
      );
    }
    if (["Exact", "Prefix", "ImplementationSpecific"].includes(value.type as string)) {
      return { path: read.match, broken: null };
    }
    const reason = `path type ${describe(value.type)} is not known`;
    this.#check.error(
      `${path}.type`,
      `the ${reason}; what begins with this path gets 500`,
      'write "Prefix", "Exact" or "ImplementationSpecific"',
    );
    return { path: read.match, broken: { kind: "reply", status: 500, reason } };
  }

  #readBackend(value: unknown, path: string): Action {
    if (value === undefined || value === null) return this.#noBackend(path, "is missing", 503);
    if (!isObject(value)) return this.#noBackend(path, `is ${kindOf(value)}`);
    this.#check.unknownFields(value, path, ["type", "name", "namespace", "port"]);
    const { type, name, namespace, port } = value;
    if (type !== "Service") {
      return this.#noBackend(`${path}.type`, `is of the unknown type ${describe(type)}`);
    }
    if (typeof name !== "string" || !LABEL.test(name)) {
      return this.#noBackend(`${path}.name`, `has the name ${describe(name)}`);
    }
    if (typeof namespace !== "string" || !LABEL.test(namespace)) {
      return this.#noBackend(`${path}.namespace`, `has the namespace ${describe(namespace)}`);
    }
    if (!isPort(port)) return this.#noBackend(`${path}.port`, `has the port ${describe(port)}`);
    const id = `${namespace}/${name}:${port}`;
    this.#upstreams.set(id, {
      id,
      protocol: "http",
      addresses: { kind: "dns", name: `${name}.${namespace}${this.#domain}`, port },
    });
    return forwardTo(id);
  }

  /** As `translate` has it: one that is missing answers 503, one that cannot be read 500. */
  #noBackend(path: string, fault: string, status: 500 | 503 = 500): Action {
    this.#check.error(
      path,
      `the backend ${fault}; its rule returns ${status}`,
      'write {"type": "Service", "name": "web", "namespace": "default", "port": 80}',
    );
    return { kind: "reply", status, reason: `the backend ${fault}` };
  }

  #addCertificate(value: unknown, path: string, host: string, origin: Origin): void {
    const remedy = 'write {"key": "PATH", "cert": "PATH"}, or leave it out for no TLS';
    if (!isObject(value)) {
      this.#check.error(path, `it is ${kindOf(value)}; the host gets no certificate`, remedy);
      return;
    }
    this.#check.unknownFields(value, path, ["key", "cert"]);
    const { key, cert } = value;
    if (typeof key !== "string" || key === "" || typeof cert !== "string" || cert === "") {
      const field = typeof cert !== "string" || cert === "" ? "cert" : "key";
      const message = "it is not the path of a file; the host gets no certificate";
      this.#check.error(`${path}.${field}`, message, remedy);
      return;
    }
    const chosen = this.#certificateOf.get(host) ?? this.#certificates.get(cert) ?? {
      id: cert,
      hosts: [],
      chain: { kind: "file", path: cert },
      key: { kind: "file", path: key },
      origin,
    };
    if (chosen.id !== cert || chosen.key.path !== key) {
      const message = `${chosen.origin.field}.tls says otherwise and holds`;
      this.#check.error(path, message, "write the same key and cert in both");
    }
    if (this.#certificateOf.has(host)) return;
    this.#certificates.set(chosen.id, chosen);
    this.#certificateOf.set(host, chosen);
    if (host !== "*") chosen.hosts.push(host);
  }
}

/** The order of `Snapshot.routes`. */
function byPrecedence(a: Route, b: Route): number {
  return hostRank(a.host) - hostRank(b.host) || compare(a.host, b.host) ||
    lengthOf(b) - lengthOf(a) || compare(a.match.path.type, b.match.path.type) ||
    compare(a.match.path.value, b.match.path.value);
}

function lengthOf({ match: { path } }: Route): number {
  return path.value.length;
}

/** Exact hosts, then wildcards, then any. */
function hostRank(host: string): number {
  if (host === "*") return 2;
  return host.startsWith("*") ? 1 : 0;
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return compare(a.id, b.id);
}

/** By UTF-16 units, so the same everywhere; "Exact" before "Prefix". */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
