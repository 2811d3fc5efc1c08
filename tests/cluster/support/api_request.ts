/**
 * What a request to an API server asks for. In: method and URL. Out: verb, resource, namespace and
 * name, as RBAC sees them; see https://kubernetes.io/docs/reference/using-api/api-concepts/.
 */

export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  /** Of a path that is no resource: `/readyz`, `/version`, discovery. */
  | "none";

/** A request's address, taken apart. */
export interface ApiRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly verb: Verb;
  /** Plural, as in the path: `configmaps`; empty where the path is no resource. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** `status`, `token`; empty for none. */
  readonly subresource: string;
}

/** Below a namespace's own path these are the namespace's, and no resources within it. */
const OF_NAMESPACES = new Set(["status", "finalize"]);

/** Takes a request to `url`, with or without its host, apart. */
export function parseApiRequest(method: string, url: string): ApiRequest {
  const { pathname: path, searchParams: query } = new URL(url, "https://localhost");
  const parts = path.split("/").filter((part) => part !== "").map(decodeURIComponent);
  const groupParts = parts[0] === "api" ? 2 : parts[0] === "apis" ? 3 : parts.length;
  let [resource = "", name = "", subresource = ""] = parts.slice(groupParts);
  let namespace = "";
  if (resource === "namespaces") {
    namespace = name;
    if (subresource !== "" && !OF_NAMESPACES.has(subresource)) {
      [resource, name = "", subresource = ""] = parts.slice(groupParts + 2);
    }
  }
  const verb = verbOf(method, resource, name, query);
  return { method, path, query, verb, resource, namespace, name, subresource };
}

function verbOf(method: string, resource: string, name: string, query: URLSearchParams): Verb {
  if (resource === "") return "none";
  switch (method) {
    case "GET":
    case "HEAD":
      if (["1", "true"].includes(query.get("watch") ?? "")) return "watch";
      return name === "" ? "list" : "get";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return name === "" ? "deletecollection" : "delete";
    default:
      return "none";
  }
}
