/**
 * The annotation, or the key of ingress-nginx's ConfigMap, that somebody meant. In: a name that nothing has,
 * or that its kind does not have. Out: the remedy. The controller does not search: a tenant could write thousands of names.
 */
import {
  ACCEPT_ANNOTATION,
  SERVICE_ANNOTATIONS,
} from "../../controller/translate/annotations/own_annotations.ts";
import {
  PROFILE_ANNOTATION,
  SHARE_ANNOTATION,
  STATUS_ANNOTATION,
} from "../../controller/translate/annotations/own_annotation_names.ts";
import { BY_NAME } from "../../controller/translate/annotations/nginx/table.ts";
import { KEYS } from "../../controller/translate/config_map/table.ts";
import { HOSTS_ANNOTATION } from "../../controller/translate/hosts/namespace_facts.ts";
import { nearestName } from "../../shared/nearest_name.ts";
import { ENDPOINT_ANNOTATION } from "../local_endpoints.ts";

/** Annotations of ours, by the kind that has them. */
export const OWN_ANNOTATIONS: Readonly<Record<string, readonly string[]>> = {
  Ingress: [ACCEPT_ANNOTATION, SHARE_ANNOTATION],
  Service: [...SERVICE_ANNOTATIONS, ENDPOINT_ANNOTATION],
  IngressClass: [PROFILE_ANNOTATION, STATUS_ANNOTATION],
  Namespace: [HOSTS_ANNOTATION],
};

/** Its letters are nearest to those of a list that admits. */
const BLACKLIST = ["blacklist-source-range", "denylist-source-range"] as const;

/** What is suggested for a name like one of these. */
const ANNOTATIONS: ReadonlyMap<string, string> = new Map([
  ...[...BY_NAME.keys()].map((name) => [name, name] as const),
  BLACKLIST,
]);

/** With annotations whose key has another name. */
const KEY_NAMES: ReadonlyMap<string, string> = new Map([
  ...[...KEYS].flatMap(([key, { annotation, globalAuth }]) =>
    [annotation, globalAuth].flatMap((name) => name === undefined ? [] : [[name, key] as const])
  ),
  ...[...KEYS.keys()].map((name) => [name, name] as const),
  BLACKLIST,
]);

/** What to do about a name, without the prefix, that ingress-nginx does not document. */
export function nginxRemedy(name: string): string {
  return suggestion(name, ANNOTATIONS) ?? "Remove the annotation";
}

/** What to do about a key that ingress-nginx's ConfigMap does not have. */
export function keyRemedy(name: string): string {
  return suggestion(name, KEY_NAMES) ?? "Remove the key, or use a name from docs/configmap.md";
}

/** Null where no name is like it. */
function suggestion(name: string, meant: ReadonlyMap<string, string>): string | null {
  const nearest = nearestName(name, meant.keys());
  return nearest === null ? null : `Write "${meant.get(nearest)}" if you mean that`;
}

/** What to do about an annotation of ours that is on an object of a kind that does not have it. */
export function ownRemedy(kind: string, name: string): string {
  const kinds = Object.keys(OWN_ANNOTATIONS);
  const home = kinds.find((each) => OWN_ANNOTATIONS[each].includes(name));
  if (home !== undefined) return writeOn(home, kind, "it");
  const meant = nearestOwn(name, OWN_ANNOTATIONS[kind] ?? []) ??
    nearestOwn(name, kinds.flatMap((each) => OWN_ANNOTATIONS[each]));
  if (meant === null) return "Remove the annotation, or use a name from docs/annotations.md";
  return writeOn(kinds.find((each) => OWN_ANNOTATIONS[each].includes(meant))!, kind, `"${meant}"`);
}

/** By what stands behind the prefix, which all of them share. */
function nearestOwn(name: string, names: readonly string[]): string | null {
  const meant = nearestName(withoutPrefix(name), names.map(withoutPrefix));
  return names.find((each) => withoutPrefix(each) === meant) ?? null;
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

function writeOn(home: string, kind: string, what: string): string {
  if (home === kind) return `Write ${what}`;
  return home === "Service" && kind === "Ingress"
    ? `Write ${what} on the Service that the Ingress names`
    : `Write ${what} on the ${home}`;
}
