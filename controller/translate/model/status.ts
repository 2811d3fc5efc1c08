/**
 * What became of each Ingress: in, the outcome of its paths and TLS entries; out, one IngressStatus
 * for each Ingress that is ours (`deno task dev` prints it, the controller writes it as status).
 */
import type { ObjectRef } from "../../../shared/problem.ts";
import { isSameList } from "../../base/memo.ts";

/** What became of one Ingress of a class that is served here. */
export interface IngressStatus {
  readonly object: ObjectRef;
  /** `all`: everything is served as written, without an error; `partly`: something; `none`: nothing. */
  readonly accepted: "all" | "partly" | "none";
  /** One entry for each path, in the order of the object; the default backend comes last. */
  readonly paths: readonly PathStatus[];
  /** One entry for each element of `spec.tls`, in order. */
  readonly tls: readonly TlsStatus[];
  /** Of an Ingress whose class leaves its addresses to another controller; missing otherwise. */
  readonly addresses?: "off";
}

export interface PathStatus {
  /** `spec.rules[0].http.paths[1]`, `spec.rules[0]` (unreadable) or `spec.defaultBackend`. */
  readonly field: string;
  /** Ids of the routes that it became; empty for a default backend that is the default action. */
  readonly routes: readonly string[];
  /**
   * `served`: forwards to a backend. `failing`: in the table, but answers 500 or 503. `taken`: an
   * older Ingress has this host and path. `refused`: the host belongs to another namespace.
   * `dropped`: the host or path cannot be read. `unused`: a path or default backend that no
   * request can reach.
   */
  readonly outcome: "served" | "failing" | "taken" | "refused" | "dropped" | "unused";
}

export interface TlsStatus {
  /** `spec.tls[0]`. */
  readonly field: string;
  /**
   * The names that this entry's certificate is used for, sorted. A wildcard stands for the hosts
   * below it that an entry before has with the same certificate.
   */
  readonly hosts: readonly string[];
  /**
   * `served`: with the Secret's certificate. `kept`: some with the one published before, since the
   * Secret has none that can be used. `failing`: some of its names have no certificate. `taken`:
   * an older Ingress has some of its names. `refused`: some belong to other namespaces, or no rule
   * of this one takes them. `none`: it names no Secret.
   */
  readonly outcome: "served" | "kept" | "failing" | "taken" | "refused" | "none";
}

/** Whether requests to any of its paths reach a backend. */
export function reachesBackend({ paths }: IngressStatus): boolean {
  return paths.some(({ outcome }) => outcome === "served");
}

/** The status of one element of `spec.tls`, the very same as before as long as nothing changed. */
export class LastTlsStatus {
  readonly #field: string;
  #last: TlsStatus | null = null;
  /** What `#last` was made of, where all its names are served. */
  #servedNames: object | null = null;

  constructor(field: string) {
    this.#field = field;
  }

  /** @param names Decide on `hosts`. */
  served(names: object, hosts: () => readonly string[]): TlsStatus {
    if (this.#last !== null && this.#servedNames === names) return this.#last;
    const status = this.of(hosts(), "served");
    this.#servedNames = names;
    return status;
  }

  of(hosts: readonly string[], outcome: TlsStatus["outcome"]): TlsStatus {
    this.#servedNames = null;
    const last = this.#last;
    return last !== null && last.outcome === outcome && isSameList(last.hosts, hosts)
      ? last
      : this.#last = { field: this.#field, hosts, outcome };
  }
}

/** The status of one Ingress, the very same as before as long as nothing of it changed. */
export class LastStatus {
  #last: IngressStatus | null = null;
  #hadErrors = false;

  of(
    object: ObjectRef,
    paths: readonly PathStatus[],
    tls: readonly TlsStatus[],
    hasErrors: boolean,
  ): IngressStatus {
    const last = this.#last;
    if (
      last !== null && this.#hadErrors === hasErrors && isSameList(last.tls, tls) &&
      last.paths.length === paths.length &&
      last.paths.every((path, i) => isSamePath(path, paths[i]))
    ) return last;
    this.#hadErrors = hasErrors;
    return this.#last = ingressStatus(object, paths, tls, hasErrors);
  }
}

function isSamePath(a: PathStatus, b: PathStatus): boolean {
  if (a === b) return true;
  if (a.field !== b.field || a.outcome !== b.outcome || a.routes.length !== b.routes.length) {
    return false;
  }
  return a.routes.every((id, i) => id === b.routes[i]);
}

function ingressStatus(
  object: ObjectRef,
  paths: readonly PathStatus[],
  tls: readonly TlsStatus[],
  hasErrors: boolean,
): IngressStatus {
  const isWhole = !hasErrors &&
    paths.every(({ outcome }) => outcome === "served" || outcome === "unused") &&
    tls.every(({ outcome }) => outcome === "served" || outcome === "none");
  const isAnything = paths.some(({ outcome }) => outcome === "served") ||
    tls.some(({ hosts }) => hosts.length > 0);
  return { object, accepted: !isAnything ? "none" : isWhole ? "all" : "partly", paths, tls };
}
