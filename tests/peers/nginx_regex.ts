/**
 * nginx as ingress-nginx configures hosts whose paths may be regular expressions. In: Ingresses by host,
 * oldest first. Out: the server blocks that its template writes for them.
 *
 * Written by hand after internal/ingress/controller/{controller,location}.go and template/template.go of
 * k8s.io/ingress-nginx v0.0.0-20240708192948-52c50467d67d.
 */
import { Buffer } from "node:buffer";
import type { AnnotatedIngress } from "../support/annotated_ingresses.ts";

/** A host, and its Ingresses by name. */
export interface RegexHost {
  readonly host: string;
  readonly ingresses: Readonly<Record<string, AnnotatedIngress>>;
}

/** What decides on where a location stands, and how its path is compared. */
export interface PlacedLocation {
  readonly path: string;
  readonly type: string;
  /** Of rewrite-target; "" for none. */
  readonly target: string;
  readonly usesRegex: boolean;
}

interface Location extends PlacedLocation {
  readonly name: string;
  readonly prefix: string;
  readonly denied: string | null;
}

/** Of `http`, for a port to listen on and that of the backend, which gets the Ingress's name as Host. */
export function regexServers(
  hosts: readonly RegexHost[],
  port: number,
  backendPort: number,
): string {
  return `  error_log /dev/null crit;
  server_names_hash_bucket_size 128;
  port_in_redirect off;
  upstream backend {
    server 127.0.0.1:${backendPort};
  }
${hosts.map((host) => serverOf(host, port)).join("")}`;
}

function serverOf({ host, ingresses }: RegexHost, port: number): string {
  const all = locationsOf(ingresses);
  // What no path takes is the default backend's, whose location a Prefix / replaces where it stands.
  const root = all.find(({ path, type }) => path === "/" && type === "Prefix") ??
    restOf(ingresses);
  const locations = [root, ...all.filter((location) => location !== root)];
  return `  server {
    listen 127.0.0.1:${port};
    server_name ${host};
    ${locationBlocks(locations, bodyOf).join("\n    ")}
  }
`;
}

/** Of one host, with one for what no path takes. */
export function locationBlocks<T extends PlacedLocation>(
  all: readonly T[],
  bodyOf: (location: T) => string,
): string[] {
  const locations = [...all];
  // Go compares texts, and takes their length, in bytes.
  const bytes = (path: string) => new TextEncoder().encode(path);
  locations.sort((a, b) => Buffer.compare(bytes(b.path), bytes(a.path)));
  locations.sort((a, b) => bytes(b.path).length - bytes(a.path).length);
  const updated = withExact(locations);
  const isRegex = updated.some((location) => needsRewrite(location) || location.usesRegex);
  return updated.map((location) => {
    const { path, type } = location;
    const where = isRegex ? `~* "^${path}"` : type === "Exact" ? `= ${path}` : path;
    return `location ${where} {${bodyOf(location)}}`;
  });
}

function locationsOf(ingresses: RegexHost["ingresses"]): Location[] {
  const found: Location[] = [];
  for (const [name, { annotations, paths }] of Object.entries(ingresses)) {
    for (const [path, written] of paths) {
      const type = typeOf(written);
      if (found.some((other) => other.path === path && other.type === type)) continue;
      found.push({ path, type, name, ...annotatedBy(annotations) });
    }
  }
  return found;
}

/** As createServers makes it: with all annotations of the first Ingress, whichever backend it has. */
function restOf(ingresses: RegexHost["ingresses"]): Location {
  const [[name, { annotations, hasDefaultBackend }]] = Object.entries(ingresses);
  return {
    ...{ path: "/", type: "Prefix", name: hasDefaultBackend ? name : "" },
    ...annotatedBy(annotations),
  };
}

function annotatedBy(annotations: AnnotatedIngress["annotations"]) {
  return {
    target: annotations["rewrite-target"] ?? "",
    usesRegex: annotations["use-regex"] === "true",
    prefix: annotations["x-forwarded-prefix"] ?? "",
    denied: annotations["denylist-source-range"] ?? null,
  };
}

/** As SetDefaultNGINXPathType of internal/k8s leaves it. */
export function typeOf(written: string): string {
  return written === "ImplementationSpecific" ? "Prefix" : written;
}

export function needsRewrite({ target, path }: PlacedLocation): boolean {
  return target !== "" && target !== path;
}

/** A Prefix takes whole segments. */
function withExact<T extends PlacedLocation>(locations: readonly T[]): T[] {
  const exact = new Set(locations.filter(({ type }) => type === "Exact").map(({ path }) => path));
  return locations.flatMap((location) => {
    const { path, type, usesRegex } = location;
    if (path === "/" || type !== "Prefix" || needsRewrite(location) || usesRegex) return [location];
    const prefix = { ...location, path: path.endsWith("/") ? path : `${path}/` };
    return exact.has(path) ? [prefix] : [prefix, { ...location, type: "Exact" }];
  });
}

function bodyOf(location: Location): string {
  if (location.name === "") return " return 404; ";
  const rewrite = needsRewrite(location)
    ? `rewrite "(?i)${location.path}" ${location.target} break; ` +
      (location.prefix === "" ? "" : `proxy_set_header X-Forwarded-Prefix "${location.prefix}"; `)
    : "";
  const access = location.denied === null ? "" : ` deny ${location.denied};`;
  return `${access} proxy_http_version 1.1; proxy_set_header Host ${location.name}; ${rewrite}proxy_pass http://backend; `;
}
