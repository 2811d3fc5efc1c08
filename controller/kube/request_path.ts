/** Paths of requests. In: a kind, an object or none, and a query. Out: what stands behind the host in the URL. */
import type { Resource } from "./types.ts";

/** @param namespace Null for all, and for kinds that have none. @param name Null for all objects. */
export function requestPath(
  { group, version, plural, namespaced }: Resource,
  namespace: string | null,
  name: string | null,
  query: Readonly<Record<string, string | undefined>> = {},
  subresource?: string,
): string {
  const parts = [
    ...(group === "" ? ["api", version] : ["apis", group, version]),
    ...(namespaced && namespace !== null ? ["namespaces", namespace] : []),
    plural,
    ...(name === null ? [] : [name]),
    ...(subresource === undefined ? [] : [subresource]),
  ];
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(value)}`]
  );
  const path = `/${parts.map(encodeURIComponent).join("/")}`;
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}
