/**
 * What filters cost: routes that differ in their filters alone. In: where backend and authentication
 * server listen. Out: a snapshot in which each has a host of its own, and the request that is sent to it.
 */
import { bcrypt } from "hash-wasm";
import { regexLocation } from "../../controller/translate/annotations/nginx/location.ts";
import {
  withDefaultFilters,
  withDefaults,
} from "../../controller/translate/annotations/nginx/defaults.ts";
import { rewriteOf } from "../../controller/translate/annotations/nginx/rewrite.ts";
import { REWRITE_TARGET } from "../../controller/translate/annotations/nginx/rows/rewrite_target.ts";
import { credentialsOf } from "../../shared/credentials/credentials.ts";
import type { Address } from "../../shared/net/address.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import type {
  Credentials,
  FilterSpec,
  PathMatch,
  Policy,
  Upstream,
} from "../../shared/snapshot/types.ts";

export type Headers = readonly (readonly [name: string, value: string])[];

export interface CostRoute {
  readonly name: string;
  /** For people, what it is. */
  readonly about: string;
  /** CPU per request over that of `plain`, at most; null where there is no target. */
  readonly bound: number | null;
  readonly match: PathMatch;
  /** Of headers, on the listener of a Gateway; null for an Ingress. */
  readonly conditions: Headers | null;
  readonly filters: readonly FilterSpec[];
  readonly policy: Omit<Policy, "id"> | null;
  /** Of the requests that are measured: they get 200 and the body of `/small`. */
  readonly path: string;
  readonly headers: Headers;
  /** Shows that its filters count: a request, and its status. */
  readonly probe: {
    readonly path: string;
    readonly headers: Headers;
    readonly status: number;
    /** Of the response. */
    readonly header?: readonly [name: string, value: string];
  };
}

const UPSTREAM = "bench/backend:80";
const AUTH = "bench/auth:80";
const USERS = "bench/users auth-file";

/** The only credential that `auth_server.ts` admits. */
export const TOKEN = "Bearer bench";

/** The user of whom a right login is known. */
export const LOGIN = `Basic ${btoa("bob:correct horse")}`;

/** The other user of the same credentials. */
export const OTHER_USER = "ann";

export function hostOf(name: string): string {
  return `${name}.bench.test`;
}

const SMALL: PathMatch = { type: "Prefix", value: "/small" };
const HOUR = 3_600_000;

const PLAIN: CostRoute = {
  ...{ name: "plain", about: "no filter", bound: null },
  ...{ match: SMALL, filters: [], policy: null, path: "/small", headers: [] },
  conditions: null,
  probe: { path: "/none", headers: [], status: 404 },
};

/** `count` networks of a private range that the client is not in. */
function networks(range: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.${range}.${i}.0/24`);
}

const LISTS: CostRoute = {
  ...PLAIN,
  ...{ name: "lists", about: "allow list, deny list and 4 edits of headers", bound: 1.08 },
  filters: [
    { kind: "access", deny: networks(1, 20), allow: [...networks(2, 20), "127.0.0.0/8"] },
    {
      kind: "request-headers",
      set: [{ name: "x-team", value: "bench" }],
      remove: ["x-debug"],
    },
    {
      kind: "response-headers",
      set: [{ name: "x-frame-options", value: "DENY" }],
      remove: ["x-powered-by"],
    },
  ],
  probe: { path: "/small", headers: [], status: 200, header: ["x-frame-options", "DENY"] },
};

const REWRITE: CostRoute = {
  ...PLAIN,
  ...{ name: "rewrite", about: "a regular expression, rewritten with a group", bound: 1.05 },
  match: regexLocation("/app(/|$)(.*)", "pingress").match,
  filters: [rewriteTo("/small/$2", "/app(/|$)(.*)")],
  path: "/app/users",
  // What is not rewritten to what the backend has gets its 404.
  probe: { path: "/APP/users/12?page=2", headers: [], status: 200 },
};

const EXTERNAL: CostRoute = {
  ...PLAIN,
  ...{ name: "external-auth", about: "external authentication, from its cache", bound: 1.15 },
  filters: [{
    kind: "access",
    external: {
      scheme: "http",
      authority: [{ kind: "text", text: "auth.bench.test" }],
      target: [{ kind: "text", text: "/auth" }],
      namespace: "bench",
      upstream: AUTH,
      responseHeaders: ["x-user"],
      cache: {
        key: [{ kind: "variable", name: "http_authorization" }],
        durations: [{ statuses: [200], time: HOUR }],
      },
    },
  }],
  headers: [["Authorization", TOKEN]],
  probe: { path: "/small", headers: [["Authorization", "Bearer other"]], status: 401 },
};

const BASIC: CostRoute = {
  ...PLAIN,
  ...{ name: "basic-auth", about: "basic authentication of a known user", bound: 1.15 },
  filters: [{ kind: "access", basic: { credentials: USERS, realm: "bench" } }],
  headers: [["Authorization", LOGIN]],
  probe: { path: "/small", headers: [], status: 401 },
};

const PROFILE: CostRoute = {
  ...PLAIN,
  ...{ name: "profile", about: "an Ingress of ingress-nginx without annotations" },
  match: { ...SMALL, decoded: true },
  filters: withDefaultFilters([]),
  policy: withDefaults({}),
  // As nginx has it, `/small`.
  probe: { path: "//small", headers: [], status: 200 },
};

const CONDITIONS: Headers = [["X-Team", "bench"], ["X-Stage", "production"]];

const PLAIN_HEADERS: CostRoute = {
  ...PLAIN,
  ...{ name: "plain-headers", about: "no filter, and two more headers in each request" },
  headers: CONDITIONS,
};

const GATEWAY: CostRoute = {
  ...PLAIN_HEADERS,
  ...{ name: "gateway", about: "a Gateway's route with conditions for these two", bound: 1.05 },
  conditions: CONDITIONS,
  probe: { path: "/small", headers: [["X-Team", "bench"]], status: 404 },
};

/** The first is what all others are compared with; the second one shows how far that can be told. */
export const COST_ROUTES: readonly CostRoute[] = [
  PLAIN,
  { ...PLAIN, name: "plain-again", about: "the same, to show the error of measurement" },
  LISTS,
  REWRITE,
  EXTERNAL,
  BASIC,
  PROFILE,
  PLAIN_HEADERS,
  GATEWAY,
];

const LISTENER = "bench/bench/http";

/** Regular expressions that others take exponential, or at least cubic, time for. */
const EVIL = ["/evil/(a+)+$", "/evil/(a|a)*b", "/evil/(.*)(.*)(.*)(.*)c"];

/** None of them matches, which each finds out as late as it can. */
export const EVIL_PATH = `/evil/${"a".repeat(4000)}!`;

const EVIL_ROUTES: readonly CostRoute[] = EVIL.map((pattern) => ({
  ...PLAIN,
  name: "evil",
  match: regexLocation(pattern, "pingress").match,
  filters: [rewriteTo("/small/$1", pattern)],
}));

/** As the annotation says it. */
function rewriteTo(text: string, pattern: string): FilterSpec {
  const target = REWRITE_TARGET.read(text);
  if (target === null) throw new Error(text);
  const reading = rewriteOf({ target, forwardedPrefix: null }, pattern, "pingress");
  // Of a group that is repeated, the annotation is refused: what it is rewritten to does not matter here.
  return reading.ok
    ? reading.filter
    : { kind: "rewrite", path: [{ kind: "text", text: "/small" }] };
}

/** The configuration of the proxy, as JSON. @param socket The port of the Gateway's listener. */
export async function configuration(
  backend: Address,
  auth: Address,
  socket: number,
): Promise<string> {
  const routes = [...COST_ROUTES, ...EVIL_ROUTES];
  const named = routes.map((route, i) => ({ ...route, id: `${route.name} ${i}` }));
  return serialiseSnapshot({
    format: 2,
    version: { epoch: "bench", seen: { Ingress: "1" } },
    listeners: [{
      ...{ id: LISTENER, port: 80, socket: String(socket), protocol: "HTTP" },
      ...{ wildcards: "suffix", fallThrough: true },
      origin: { kind: "Gateway", namespace: "bench", name: "bench", field: "spec.listeners[0]" },
    }],
    routes: named.map(({ id, name, match, conditions, filters, policy }) => ({
      id: `${hostOf(name)} ${match.type} ${match.written ?? match.value}`,
      host: hostOf(name),
      ...(conditions === null ? {} : { listeners: [LISTENER] }),
      match: {
        path: match,
        ...(conditions === null ? {} : {
          headers: conditions.map(([name, value]) => ({
            name: name.toLowerCase(),
            ...{ type: "Exact" as const, value },
          })),
        }),
      },
      action: { kind: "forward", backends: [{ upstream: UPSTREAM }] },
      ...(filters.length === 0 ? {} : { filterSet: id }),
      ...(policy === null ? {} : { policy: id }),
      origin: { kind: "Ingress", namespace: "bench", name, field: "" },
    })),
    defaultAction: null,
    filterSets: named.filter(({ filters }) => filters.length > 0)
      .map(({ id, filters }) => ({ id, filters })),
    policies: named.flatMap(({ id, policy }) => policy === null ? [] : { id, ...policy }),
    upstreams: [upstreamAt(UPSTREAM, backend), upstreamAt(AUTH, auth)],
    credentials: [await credentials()],
    certificates: [],
    defaultCertificate: null,
  }, { revealKeys: true });
}

function upstreamAt(id: string, { hostname, port }: Address): Upstream {
  const endpoints = [{ address: hostname, port }];
  return { id, protocol: "http", addresses: { kind: "endpoints", endpoints } };
}

/** Both users at the cost that htpasswd's users choose most. */
async function credentials(): Promise<Credentials> {
  const users = ["bob:correct horse", `${OTHER_USER}:battery staple`];
  const lines = await Promise.all(users.map(async (user) => {
    const [name, password] = user.split(":");
    const salt = crypto.getRandomValues(new Uint8Array(16));
    const options = { password, salt, costFactor: 10, outputType: "encoded" } as const;
    return `${name}:${await bcrypt(options)}\n`;
  }));
  return credentialsOf(USERS, "1", lines.join(""));
}
