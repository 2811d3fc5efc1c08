/**
 * An Ingress beside others of its hosts. In: a judged Ingress. Out: its hosts, paths and Services, each
 * with its field, and what it says by annotations.
 */
import { asList, asScalar, asText, fieldOf } from "../../controller/base/json.ts";
import type { NginxAnnotations } from "../../controller/translate/annotations/nginx/nginx_annotations.ts";
import { isCanary } from "../../controller/translate/annotations/nginx/refusals.ts";
import { type PathType, readPathType } from "../../controller/translate/ingress/path.ts";
import type { Finding } from "./finding.ts";
import { annotationsOf, createdAt, type JudgedIngress } from "./judgement.ts";

export interface MemberPath {
  /** In lower case; "" is any host. */
  readonly host: string;
  readonly path: string;
  readonly type: PathType;
  readonly field: string;
}

export interface Member {
  readonly judged: JudgedIngress;
  /** `default/web`. */
  readonly name: string;
  readonly namespace: string;
  readonly annotations: NginxAnnotations;
  /** The field of the first rule with a host; "" is any host. */
  readonly hosts: ReadonlyMap<string, string>;
  readonly written: readonly MemberPath[];
  /** Host and path, one text each. */
  readonly paths: ReadonlySet<string>;
  /** By `namespace/service:port`, the field of the first backend. */
  readonly services: ReadonlyMap<string, string>;
  readonly isCanary: boolean;
  /** `metadata.creationTimestamp`; null in files that people wrote. */
  readonly created: string | null;
}

/** A finding about the Ingress `name`, at its field `field`. */
export type HostFinding = Omit<Finding, "at"> & { readonly name: string; readonly field: string };

export function memberOf(judged: JudgedIngress): Member {
  const { namespace } = judged.status.object;
  const hosts = new Map<string, string>();
  const written: MemberPath[] = [];
  const services = new Map<string, string>();
  for (const [i, rule] of (asList(fieldOf(judged.ingress.spec, "rules")) ?? []).entries()) {
    const host = (asText(fieldOf(rule, "host")) ?? "").toLowerCase();
    if (!hosts.has(host)) hosts.set(host, `spec.rules[${i}].host`);
    for (const [j, each] of (asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []).entries()) {
      const field = `spec.rules[${i}].http.paths[${j}]`;
      const path = asText(fieldOf(each, "path")) ?? "/";
      // As ingress-nginx reads a path without a type.
      const type = readPathType(fieldOf(each, "pathType")) ?? "Prefix";
      written.push({ host, path, type, field: `${field}.path` });
      const service = fieldOf(fieldOf(each, "backend"), "service");
      const port = fieldOf(service, "port");
      const key = `${namespace}/${asText(fieldOf(service, "name"))}:${
        asText(fieldOf(port, "name")) ?? asScalar(fieldOf(port, "number"))
      }`;
      if (!services.has(key)) services.set(key, `${field}.backend`);
    }
  }
  const annotations = annotationsOf(judged);
  return {
    ...{ judged, name: judged.name, namespace, annotations, hosts, written, services },
    paths: new Set(written.map(({ host, path }) => `${host} ${path}`)),
    isCanary: isCanary(annotations),
    created: createdAt(judged.ingress),
  };
}

/** Of one host or Service; null where files do not say which is the oldest. */
export function oldestOf(members: readonly Member[]): Member | null {
  const isKnown = members.every(({ created }) => created !== null);
  return !isKnown ? null : members.toSorted((a, b) =>
    byText(a.created!, b.created!) ||
    // As ingress-nginx sorts Ingresses of one age.
    byText(b.name, a.name)
  )[0] ?? null;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
