/**
 * What Namespace objects say of hosts. In: Namespaces of unknown shape, or null where they cannot be
 * read. Out: the namespaces that are being deleted, and the hosts that an administrator assigned by
 * the annotation `pingress.io/hosts`, which tenants cannot write.
 */
import { explainHost, HOST_REMEDY, readHost } from "../model/host.ts";
import { compareAge, creationTime, type Identity } from "../../base/identity.ts";
import { asObject, asText, fieldOf, isAbsent, quote } from "../../base/json.ts";
import { isSameList, LastResult } from "../../base/memo.ts";
import { isDnsLabel } from "../../base/names.ts";
import { type ObjectProblem, recordProblems, type Report } from "../../base/problems.ts";
import { RoutePlace } from "../model/route_place.ts";

export const HOSTS_ANNOTATION = "pingress.io/hosts";
export const HOSTS_FIELD = `metadata.annotations[${JSON.stringify(HOSTS_ANNOTATION)}]`;

/** A host that a Namespace object assigns. */
export interface AssignedHost {
  readonly namespace: string;
  /** Of all paths, for a host without a rule of its owner. */
  readonly place: RoutePlace;
}

export interface NamespaceFacts {
  readonly terminating: ReadonlySet<string>;
  readonly assigned: ReadonlyMap<string, AssignedHost>;
  readonly problems: readonly ObjectProblem[];
}

const NO_NAMESPACES: ReadonlySet<string> = new Set();
const NO_HOSTS: ReadonlyMap<string, AssignedHost> = new Map();
const NOTHING: NamespaceFacts = { terminating: NO_NAMESPACES, assigned: NO_HOSTS, problems: [] };

export class NamespaceReader {
  readonly #last = new LastResult<readonly unknown[], NamespaceFacts>();

  /** The very same as before where the objects are. */
  read(objects: readonly unknown[] | null | undefined): NamespaceFacts {
    if (objects === null || objects === undefined || objects.length === 0) return NOTHING;
    return this.#last.recall((before) => isSameList(before, objects)) ??
      this.#last.keep(objects, readAll(objects));
  }
}

interface NamespaceObject {
  readonly identity: Identity;
  readonly hosts: unknown;
}

function readAll(objects: readonly unknown[]): NamespaceFacts {
  const terminating = new Set<string>();
  const living: NamespaceObject[] = [];
  for (const object of objects) {
    const metadata = fieldOf(asObject(object), "metadata");
    const name = asText(fieldOf(metadata, "name"));
    if (name === null || !isDnsLabel(name)) continue;
    if (isDying(object)) terminating.add(name);
    else living.push({ identity: identityOf(name, object), hosts: hostsOf(metadata) });
  }
  const assigned = new Map<string, AssignedHost>();
  living.sort((a, b) => compareAge(a.identity, b.identity));
  const { problems } = recordProblems((list) => {
    for (const { identity, hosts } of living) {
      if (isAbsent(hosts)) continue;
      assignHosts(identity, hosts, assigned, list.about(identity.ref));
    }
  });
  return { terminating, assigned, problems };
}

/** Whether the object itself says that it is being deleted. */
export function isDying(object: unknown): boolean {
  return !isAbsent(fieldOf(fieldOf(object, "metadata"), "deletionTimestamp"));
}

function hostsOf(metadata: unknown): unknown {
  return fieldOf(fieldOf(metadata, "annotations"), HOSTS_ANNOTATION);
}

function identityOf(name: string, object: unknown): Identity {
  const ref = { kind: "Namespace", namespace: "", name };
  return { ref, key: `/${name}`, label: `Namespace ${name}`, createdAt: creationTime(object) };
}

function assignHosts(
  identity: Identity,
  written: unknown,
  assigned: Map<string, AssignedHost>,
  report: Report,
): void {
  for (const { host, problem } of listedHosts(written)) {
    if (host === null) {
      report.error(HOSTS_FIELD, {
        reason: "HostInvalid",
        message: `${problem}, so it is assigned to nobody`,
        remedy: HOST_REMEDY,
      });
      continue;
    }
    const other = assigned.get(host);
    if (other === undefined) {
      const place = new RoutePlace(host, { type: "Prefix", value: "/" }, identity, HOSTS_FIELD);
      assigned.set(host, { namespace: identity.ref.name, place });
    } else if (other.namespace !== identity.ref.name) {
      report.error(HOSTS_FIELD, {
        reason: "HostAlreadyAssigned",
        message: `host ${host} is assigned to namespace ${other.namespace} already, which is older`,
        remedy: "Remove the host from one of the two annotations",
      });
    }
  }
}

interface ListedHost {
  readonly host: string | null;
  readonly problem: string;
}

function listedHosts(written: unknown): ListedHost[] {
  if (typeof written !== "string") {
    return [{ host: null, problem: `annotation ${quote(HOSTS_ANNOTATION)} is not text` }];
  }
  return written.split(/[,\s]/).filter((part) => part !== "").map((part) => {
    const reading = readHost(part);
    return reading.ok
      ? { host: reading.host, problem: "" }
      : { host: null, problem: explainHost(part, reading.reason) };
  });
}
