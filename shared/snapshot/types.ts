/**
 * The contract between the controller and the proxy: one immutable configuration.
 *
 * In: nothing. Out: the types that `translate` makes, `parse.ts` checks and `proxy/router` compiles.
 * Everything is plain JSON but for private keys, which are `Secret` values so that they never print.
 */
import type { Secret } from "../redacted.ts";

/** Raised only when an older reader would misunderstand the file; new optional fields do not raise it. */
export const SNAPSHOT_FORMAT = 1;

/** One whole configuration. A later one replaces it by one reference swap. */
export interface Snapshot {
  readonly format: typeof SNAPSHOT_FORMAT;
  readonly version: SnapshotVersion;
  /** In order of precedence: the most specific host first, in it the longest path, Exact before Prefix. */
  readonly routes: readonly Route[];
  /** What a request gets that no route takes; null is 404. */
  readonly defaultAction: Action | null;
  /** Sorted by id. */
  readonly upstreams: readonly Upstream[];
  /** Sorted by id. */
  readonly certificates: readonly Certificate[];
  /** Id of the certificate for names that no other covers; null refuses them. */
  readonly defaultCertificate: string | null;
  /**
   * What proxies add to requests in `CDN-Loop` (RFC 8586): one mark for all, so that a loop through
   * several ends as one through a single proxy. Missing, each proxy makes its own.
   */
  readonly loopMark?: string;
  /**
   * Addresses and networks that no name may stand for: the API server's, those of nodes, and networks
   * of Services. Sorted; missing for none.
   */
  readonly denied?: readonly string[];
}

/** Newer means: same epoch, no component of `seen` smaller and one larger. */
export interface SnapshotVersion {
  /** UID of the namespace kube-system, or "file" without a cluster. */
  readonly epoch: string;
  /** Highest resourceVersion (decimal digits) by kind. */
  readonly seen: Readonly<Record<string, string>>;
}

/** A match and the action that it leads to. */
export interface Route {
  /** Unique and stable: `<host><path type><path>`, for example `app.example.com Prefix /api`. */
  readonly id: string;
  /**
   * Lower case, no trailing dot: `app.example.com` (exact), `*.example.com` (exactly one label in
   * place of the star) or `*` (any host that no other route names).
   */
  readonly host: string;
  readonly path: PathMatch;
  readonly action: Action;
  readonly origin: Origin;
}

/**
 * Exact: equal to the canonical path. Prefix: whole segments (`/foo` takes `/foo`, `/foo/` and
 * `/foo/bar`, never `/foobar`); its value carries no last slash, except `/` itself.
 * Values are canonical as `shared/path/canonical_path.ts` makes them.
 */
export interface PathMatch {
  readonly type: "Exact" | "Prefix";
  readonly value: string;
}

export type Action = ForwardAction | AnswerAction;

/** Send the request to an upstream. */
export interface ForwardAction {
  readonly kind: "forward";
  readonly upstream: string;
}

/** Answer without a backend: 503 for one that is missing, 500 for a route that cannot be understood. */
export interface AnswerAction {
  readonly kind: "answer";
  readonly status: 404 | 500 | 503;
  /** For logs and `explain`; never sent to a client. */
  readonly reason: string;
  /** Only with 503: until somebody changes the route, so a client is not told to try again soon. */
  readonly closed?: true;
}

/** Where in the user's objects a part of the snapshot comes from. */
export interface Origin {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** JSON path in that object, for example `spec.rules[0].http.paths[1]`. */
  readonly field: string;
}

/** A resolved Service port: where requests may go, and how to speak to it. */
export interface Upstream {
  /** `<namespace>/<service>:<port>`, where port is what the Ingress names (a number or a name). */
  readonly id: string;
  /**
   * `http`: HTTP/1.1 in plain text. `https`: TLS, and in it HTTP/2 or HTTP/1.1, as the endpoint
   * chooses (ALPN). `h2c`: HTTP/2 in plain text, with prior knowledge. `h2`: TLS, and HTTP/2 only.
   * Never another in place of the one named: gRPC fails by that in ways that nobody finds.
   */
  readonly protocol: "http" | "https" | "h2c" | "h2";
  readonly addresses: EndpointList | DnsName;
  /** For https and h2. Without it the name is `<service>.<namespace>.svc`, or the one resolved. */
  readonly tls?: UpstreamTls;
  /** How requests are spread over its endpoints; without it as the proxy does by default. */
  readonly balance?: Balance;
  /** Whether gRPC-Web is translated to gRPC for it; without it as the proxy does by default. */
  readonly grpcWeb?: boolean;
}

/**
 * `round-robin`: each endpoint in turn. `least-requests`: of two that are chosen at random the one
 * that is being asked less.
 */
export type Balance = "round-robin" | "least-requests";

/** How a backend proves who it is, and we to it. */
export interface UpstreamTls {
  /** The name that its certificate must be for, sent as SNI; DNS or IP. */
  readonly serverName: string;
  /** Authorities to trust, in place of the public ones. */
  readonly ca?: PemText;
  /** Id of the certificate to show to a backend that asks for one. */
  readonly clientCertificate?: string;
  /** Only ever false: any certificate will do, so anybody may pose as the backend. */
  readonly verify?: false;
}

/** Known addresses. An empty list answers 503. */
export interface EndpointList {
  readonly kind: "endpoints";
  /** Sorted by address, then port, without repetition. */
  readonly endpoints: readonly Endpoint[];
}

/** A name that the proxy resolves (ExternalName, and backends of the old proxy.json); each address an endpoint. */
export interface DnsName {
  readonly kind: "dns";
  readonly name: string;
  readonly port: number;
}

/** One ip:port. IPv6 without brackets. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  readonly zone?: string;
  /**
   * Zones whose proxies should ask it, sorted. They hold where each endpoint of the upstream has
   * some, as in kube-proxy.
   */
  readonly hints?: readonly string[];
}

/** A certificate chain with its key, for the names that it is used for. */
export interface Certificate {
  /** sha256 of the Secret's name, chain and key in hex for inline ones, the file's path for others. */
  readonly id: string;
  /** Host patterns (as in Route.host, never `*`), sorted. */
  readonly hosts: readonly string[];
  /**
   * Hosts that it is shown for, but to which plain HTTP is not redirected: those of `hosts` that it
   * does not name, and names below one of its wildcards that another namespace owns. Sorted.
   */
  readonly plain?: readonly string[];
  /** PEM, the leaf first. */
  readonly chain: PemText | PemFile;
  readonly key: PemSecret | PemFile;
  readonly origin: Origin;
}

export interface PemText {
  readonly kind: "pem";
  readonly pem: string;
}

export interface PemSecret {
  readonly kind: "secret";
  readonly pem: Secret;
}

/** A path that the proxy reads, relative to the configuration file's folder unless absolute. */
export interface PemFile {
  readonly kind: "file";
  readonly path: string;
}
