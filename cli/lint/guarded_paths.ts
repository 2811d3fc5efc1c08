/**
 * Paths that are protected beside open ones. In: the Ingresses of a host. Out: for an Ingress, the
 * other one whose protected path lies below one of its open paths: a request that is not routed to
 * the protected path is then forwarded by the open one.
 */
import type { NginxAnnotations } from "../../controller/translate/annotations/nginx/nginx_annotations.ts";
import { ACCESS } from "../../controller/translate/annotations/nginx/rows/access.ts";
import {
  BASIC_AUTHENTICATION,
  CLIENT_CERTIFICATES,
  EXTERNAL_AUTHENTICATION,
} from "../../controller/translate/annotations/nginx/rows/authentication.ts";
import { LIMITS } from "../../controller/translate/annotations/nginx/rows/limits.ts";
import {
  MODSECURITY,
  SNIPPETS,
} from "../../controller/translate/annotations/nginx/rows/snippets.ts";
import { BY_NAME } from "../../controller/translate/annotations/nginx/table.ts";

/** Those that refuse requests. Others that protect, such as backend-protocol, admit the same clients. */
const GUARDS: ReadonlySet<string> = new Set(
  [
    ACCESS,
    BASIC_AUTHENTICATION,
    EXTERNAL_AUTHENTICATION,
    CLIENT_CERTIFICATES,
    LIMITS,
    MODSECURITY,
    SNIPPETS,
  ].flatMap((group) => Object.keys(group)),
);

export interface GuardedMember {
  /** See `guardsOf`. */
  readonly guards: ReadonlySet<string>;
  readonly isCanary: boolean;
  /** Host and path, one text each. */
  readonly paths: ReadonlySet<string>;
}

/** The member with a protected path below an open one of `open`; null where there is none. */
export function guardBeside<M extends GuardedMember>(
  open: GuardedMember,
  guarded: readonly M[],
): M | null {
  if (open.isCanary) return null;
  return guarded.find((other) => {
    if (other.guards.size === 0 || other.isCanary) return false;
    const isStricter = [...other.guards].some((guard) => !open.guards.has(guard));
    return isStricter &&
      [...other.paths].some((path) =>
        [...open.paths].some((above) => path !== above && path.startsWith(above))
      );
  }) ?? null;
}

/** What refuses requests, each with its value: a list of other networks is another guard. */
export function guardsOf(annotations: NginxAnnotations): Set<string> {
  return new Set(
    annotations.written.flatMap(({ name, row, text, replacedBy }) => {
      const known = BY_NAME.get(name)?.name;
      const isGuard = row !== null && row.protects && known !== undefined && GUARDS.has(known) &&
        replacedBy === null && !annotations.isHarmless(row, text);
      return isGuard ? [`${known}=${text}`] : [];
    }),
  );
}
