/**
 * What an unsupported regular expression takes from other Ingresses of its host. In: the Ingresses of a
 * host. Out: a finding for each of their paths some requests of which get 500, where ingress-nginx
 * forwards them.
 */
import { regexLocation, startOf } from "../../controller/translate/annotations/nginx/location.ts";
import { ANY_HOST } from "../../controller/translate/model/host.ts";
import { DEFAULT_BACKEND_FIELD } from "../../controller/translate/model/source.ts";
import { compareRoutes } from "../../controller/translate/routes/route_order.ts";
import type { HostFinding, Member } from "./host_member.ts";

const UNSUPPORTED = "PathPatternUnsupported";

/** Of paths that have no requests to lose, or all of which are lost as the problem says. */
const HAVE_NONE: ReadonlySet<string> = new Set([
  UNSUPPORTED,
  "PathConflict",
  "PathDuplicated",
  "PathUnreachable",
]);

interface OwnPath {
  readonly path: string;
  readonly field: string;
}

export function unsupportedNeighbours(host: string, sharing: readonly Member[]): HostFinding[] {
  const unsupported = sharing.flatMap((by) =>
    pathsOf(by, host, (reason) => reason === UNSUPPORTED)
      .filter(({ path }) => regexLocation(path, "nginx").fault !== null)
      .map(({ path }) => ({ by, path }))
  );
  if (unsupported.length === 0) return [];
  return sharing.flatMap((member) => {
    const paths = [
      ...pathsOf(member, host, (reason) => reason === null),
      ...restOf(member, host),
    ];
    return paths.flatMap(({ path, field }): HostFinding[] => {
      const first = unsupported.find((each) => each.by !== member && takesFrom(each.path, path));
      return first === undefined ? [] : [{
        name: member.name,
        field,
        verdict: "BREAKS",
        rule: "host/unsupported-regular-expression",
        effect: `forwards the requests for ${path}`,
        difference: `${lostOf(first.path, path)} get 500: the regular expression ` +
          `${JSON.stringify(first.path)} of ${first.by.name} is not supported, may be meant for ` +
          "them, and comes first",
        remedy:
          "Write that expression without what is not supported, or give one of them a host of " +
          "its own",
      }];
    });
  });
}

/** @param isOne Whether a path counts, by the reason of `HAVE_NONE` that it has; null for none. */
function pathsOf(
  { judged, isCanary, written }: Member,
  host: string,
  isOne: (reason: string | null) => boolean,
): OwnPath[] {
  if (isCanary) return [];
  return written.filter((each) => {
    if (each.host !== host) return false;
    const problem = judged.problems.find(({ field, reason }) =>
      field === each.field && HAVE_NONE.has(reason)
    );
    return isOne(problem?.reason ?? null);
  });
}

/** What a default backend has of the host. */
function restOf({ judged }: Member, host: string): OwnPath[] {
  const start = `${host === "" ? ANY_HOST : host} `;
  const has = judged.status.paths.some(({ field, routes }) =>
    field === DEFAULT_BACKEND_FIELD && routes.some((id) => id.startsWith(start))
  );
  return has ? [{ path: "/", field: DEFAULT_BACKEND_FIELD }] : [];
}

/** Whether requests for `path` may be meant for an unsupported expression, which comes first. */
function takesFrom(unsupported: string, path: string): boolean {
  const [start, other] = [unsupported, path].map((text) => startOf(text).toLowerCase());
  return (start.startsWith(other) || other.startsWith(start)) &&
    compareRoutes(routeOf(unsupported), routeOf(path)) < 0;
}

function routeOf(path: string) {
  return { host: "", match: { path: regexLocation(path, "nginx").match } };
}

/** Which requests for `path` are lost to an unsupported expression. */
function lostOf(unsupported: string, path: string): string {
  const start = startOf(unsupported);
  return startOf(path).toLowerCase().startsWith(start.toLowerCase())
    ? "they"
    : `those that begin with ${start}, in any case,`;
}
