/**
 * Why a URL takes its route, as data. In: nothing. Out: the types from which text, one line and JSON are
 * written. All of it is plain JSON; `null` stands for what the source does not know or have.
 */
import type { ObjectRef, Severity } from "../../shared/problem.ts";
import type { BackendShare } from "../gateway/backend_shares.ts";
import type { Elsewhere } from "../gateway/gateway_choice.ts";
import type { Excerpt } from "../manifests/excerpt.ts";
import type { Position } from "../manifests/position.ts";

export interface UrlExplanation {
  /** As it is matched: scheme, host, path and query, without fragment. */
  readonly url: string;
  readonly request: RequestFacts;
  readonly answer: Answer;
  /** Of a Gateway; null for the ports that Ingresses share. */
  readonly listener: ListenerFacts | null;
  /** Gateways that were looked at and do not take the URL; empty unless nothing takes it. */
  readonly refusals: readonly GatewayRefusal[];
  /** `namespace/name` of other Gateways that take the URL, each at its own address. */
  readonly otherGateways: readonly string[];
  /** Listeners of Gateways for the host that have another scheme or port than the URL. */
  readonly elsewhere: readonly Elsewhere[];
  readonly owner: OwnerFacts | null;
  /** Of plain HTTP to HTTPS; null where nothing is to be said of it. */
  readonly httpsRedirect: HttpsRedirectFacts | null;
  /** Null where no route takes the request. */
  readonly route: RouteFacts | null;
  /** In the order in which a request meets them; null where the source does not say. */
  readonly filters: readonly FilterStep[] | null;
  /** Those that would get the request without the winner come first, then those with the closest paths. */
  readonly losers: readonly Loser[];
  readonly certificates: readonly CertificateFacts[];
  readonly upstreams: readonly UpstreamFacts[];
  readonly problems: readonly ExplainedProblem[];
  /** What the source could not read, a sentence each: the rest is right, and not complete. */
  readonly notes: readonly string[];
}

export interface RequestFacts {
  readonly scheme: "http" | "https";
  readonly method: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly host: string;
  /** As the client sends it. */
  readonly path: string;
  /** As routes are compared with it; null where it is refused. */
  readonly matchedPath: string | null;
  /** The host whose routes take the request; null for its own. */
  readonly aliasOf: string | null;
}

/** What a client gets that filters admit. */
export type Answer =
  /** The response of a backend. */
  | { readonly kind: "backend" }
  | { readonly kind: "redirect"; readonly status: number; readonly location: string }
  /** An error of the proxy's own. */
  | { readonly kind: "error"; readonly status: number; readonly reason: string };

/** A field of an object, and where it stands in the files; null outside of files. */
export interface ExplainedOrigin extends ObjectRef {
  readonly field: string;
  readonly at: Position | null;
}

export interface ListenerFacts {
  /** `namespace/name`. */
  readonly gateway: string;
  readonly name: string;
  /** The public one. */
  readonly port: number;
  readonly hostname: string | null;
  readonly origin: ExplainedOrigin;
  /** Where `dev` serves it; null outside of it. */
  readonly localUrl: string | null;
  /** The Service with its address; null where it has none of its own. */
  readonly service:
    | { readonly namespace: string; readonly name: string; readonly type: string }
    | null;
  /** Other listeners on its port, with why they do not take the URL. */
  readonly others: readonly { readonly name: string; readonly because: string }[];
  /** Whether Ingresses take the URL too, at their own address. */
  readonly isTakenByIngresses: boolean;
}

export interface GatewayRefusal {
  /** `namespace/name`. */
  readonly gateway: string;
  /** A clause. */
  readonly reason: string;
}

export interface OwnerFacts {
  /** Null for none. */
  readonly namespace: string | null;
  /** The host or wildcard that is owned; null for none. */
  readonly pattern: string | null;
  /** A clause. */
  readonly because: string;
  /** Namespaces that share the host. */
  readonly sharers: readonly string[];
  /** Namespaces whose rules are admitted. */
  readonly guests: readonly string[];
}

export interface HttpsRedirectFacts {
  /** Null where plain HTTP stays, by a setting. */
  readonly location: string | null;
  /** A clause. */
  readonly because: string;
  /** `proxies`: as a setting or a certificate says. `dev`: by `dev` alone, for a generated certificate. */
  readonly by: "proxies" | "dev";
  /** Whether `dev` redirects as well; null outside of it. */
  readonly isInDev: boolean | null;
  /** Whether a redirect of the route comes first. */
  readonly isAfterRoute: boolean;
}

export interface RouteFacts {
  /** Null for the default backend. */
  readonly id: string | null;
  /** Null for the default backend. */
  readonly origin: ExplainedOrigin | null;
  /** Of Gateways that share the address of Ingresses; empty for other routes. */
  readonly sharedBy: readonly { readonly gateway: string; readonly listener: string }[];
  readonly backends: readonly BackendShare[];
  /** The local reply of a route that cannot be served; null for others. */
  readonly reply: { readonly status: number; readonly reason: string } | null;
  /** Why its requests get 500, as its match cannot be compiled; null for others. */
  readonly fault: string | null;
}

export interface FilterStep {
  /** As in a snapshot, and `body-limit`. */
  readonly kind: string;
  /** The upstream whose requests it is for; null for all of the route. */
  readonly upstream: string | null;
  /** A clause: `admits clients of 10.0.0.0/8; others get 403`. Values of headers are not in it. */
  readonly text: string;
  /** What a client needs to pass: `allow-list`, `basic-auth`, …; empty where all pass. */
  readonly requires: readonly string[];
}

export interface Loser {
  /** Id of a route, or as the path is written: `app.example.com Prefix /`. */
  readonly route: string;
  /** `lost`: another route takes the request. `left-out`: the path has no route at all. */
  readonly kind: "lost" | "left-out";
  /** A clause. */
  readonly because: string;
  /** Whether it would get the request without the winner. */
  readonly isMatch: boolean;
  readonly origin: ExplainedOrigin;
}

export interface CertificateFacts {
  /** Null where none is shown. */
  readonly origin: ExplainedOrigin | null;
  /** A clause. */
  readonly because: string;
  /** False where certificates could not be read: then `because` says why. */
  readonly isKnown: boolean;
  /** Null where the chain is not known, or there is none. */
  readonly leaf: LeafFacts | null;
  /** What `dev` does without a certificate; null outside of it, and where there is one. */
  readonly inDev: string | null;
}

export type LeafFacts =
  | {
    readonly names: readonly string[];
    readonly issuer: string;
    readonly isSelfSigned: boolean;
    /** RFC 3339. */
    readonly expires: string;
    /** Whole days; negative after the last one. */
    readonly daysLeft: number;
  }
  | { readonly unreadable: string };

export interface UpstreamFacts {
  readonly id: string;
  readonly protocol: "http" | "https" | "h2c" | "h2" | null;
  /** In the order of the snapshot; for ExternalName one, with the name. */
  readonly endpoints: readonly { readonly address: string; readonly isName: boolean }[];
  /** Endpoints of EndpointSlices that get no request. */
  readonly unused: readonly { readonly address: string; readonly because: string }[];
  /** Where `dev` sends requests; null outside of it. */
  readonly inDev: string | null;
}

export interface ExplainedProblem {
  readonly object: ObjectRef | null;
  readonly field: string;
  readonly reason: string;
  readonly message: string;
  readonly remedy: string;
  readonly severity: Severity;
  readonly at: Position | null;
  /** The line of the place; null for one that must not be shown. */
  readonly excerpt: Excerpt | null;
}
