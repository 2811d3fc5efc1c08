/**
 * What one object of a user wants, whatever its kind: the model between sources and routes. In: nothing.
 * Out: the types that a source (`ingress/`) makes of its objects, and all later stages read: owners of
 * hosts, bounds, routes, certificates, statuses.
 */
import type { ProblemFacts } from "../../../shared/problem.ts";
import type { ReplyAction, Upstream } from "../../../shared/snapshot/types.ts";
import type { Excess } from "../../kube/excess.ts";
import type { Identity, SecretName } from "../../base/identity.ts";
import type { ObjectProblem } from "../../base/problems.ts";
import type { HostPlaces, RegexPlaces, RoutePlace } from "./route_place.ts";
import type { RouteSettings } from "./route_settings.ts";
import type { LastStatus, LastTlsStatus, PathStatus } from "./status.ts";
import type { BackendRef, ServiceBackend } from "./backend_ref.ts";
import type { BackendWish } from "./backend_wish.ts";
import type { HostField } from "./host_field.ts";
import type { Profile } from "./profile.ts";
import type { OtherName, WwwSettings } from "./other_name.ts";

/** All that one object says by itself; one object has one source. */
export interface Source {
  readonly identity: Identity;
  /** Of its class. */
  readonly profile: Profile;
  /** What is wrong with the object by itself. */
  readonly problems: readonly ObjectProblem[];
  readonly rules: readonly RuleModel[];
  /** Of its rules. */
  readonly hosts: readonly HostField[];
  /** Beside its hosts, of those of its rules. */
  readonly otherNames: readonly OtherName[];
  /** Of the routes that redirect to the host with and without `www.`; null where there is none. */
  readonly wwwSettings: WwwSettings;
  /** Whether it has a rule without a host, or nothing but a default backend. */
  readonly takesAnyHost: boolean;
  /** Namespaces whose rules it admits to its hosts, where its own namespace owns them. */
  readonly sharesWith: readonly string[];
  /** Whether the object itself is being deleted. */
  readonly isDying: boolean;
  /** Whether it names its class. */
  readonly hasClass: boolean;
  /** Whether `spec.rules` says something, readable or not: it is more than a default backend. */
  readonly hasRules: boolean;
  readonly defaultBackend: BackendRef | null;
  /** Settings of the default backend's routes for its hosts, where `rewrite-target` rewrites them; else null. */
  readonly rewrittenDefault: RouteSettings | null;
  readonly tls: readonly TlsModel[];
  /** For its default backend, and for hosts without a path. */
  readonly hostPlaces: HostPlaces;
  readonly status: LastStatus;
  /** Annotations that close its paths, unless they are accepted. */
  readonly refusals: readonly Refusal[];
  /** Hosts beside those of its rules that its refusals close where they hold for whole hosts. */
  readonly closesHosts: readonly string[];
  /** Whether these are all hosts of its namespace, since not all that it names are known. */
  readonly closesNamespace: boolean;
  /** Closes its hosts unless it can be used, although nothing of it is; null for none. */
  readonly requiredSecret: RequiredSecret | null;
  /** What a Service must say for the paths to be served; null for anything. */
  readonly protocolWish: ProtocolWish | null;
  /** Of all of its routes that are not closed. */
  readonly settings: RouteSettings;
  /** Gets requests for backends without endpoints; null for none. */
  readonly fallback: ServiceBackend | null;
  /** Is asked whether requests may go on; null for nobody, or hosts that requests name. */
  readonly authenticator: Authenticator | null;
  /** Paths that begin with one of these, as they are written, need no login. */
  readonly noAuthLocations: readonly string[];
  /** Null where it leaves the paths of its hosts what they are. */
  readonly regex: RegexWish | null;
  /** For its paths on hosts whose paths are regular expressions. */
  readonly regexPlaces: RegexPlaces;
  /** How its backends are spoken to; null where their Services decide. */
  readonly backendWish: BackendWish | null;
  /** Annotations that the Ingress itself says it can do without; null where it says nothing. */
  readonly accepted: readonly string[] | null;
  /** What all of its paths reply, whatever it says; null where it decides. */
  readonly closure: ReplyAction | null;
  /** Why its rules and TLS entries were not kept; null where all of it is there. */
  readonly excess: Excess | null;
}

/** Whether it may close whole hosts, and so paths of other sources. */
export function closesWholeHosts(
  { refusals, requiredSecret }: Pick<Source, "refusals" | "requiredSecret">,
): boolean {
  return requiredSecret !== null || refusals.some(({ isHostWide }) => isHostWide);
}

export interface RuleModel {
  /** `spec.rules[0]`. */
  readonly field: string;
  /** Null where it cannot be read; its paths are then dropped. */
  readonly host: string | null;
  readonly paths: readonly PathModel[];
}

export interface PathModel {
  /** `spec.rules[0].http.paths[1]`, or the rule's where its paths cannot be read. */
  readonly field: string;
  /** Null where its host or path cannot be read. */
  readonly place: RoutePlace | null;
  readonly backend: BackendRef;
  /** What becomes of it without a place. */
  readonly dropped: PathStatus;
  /** Null where its host cannot be read, or its path is no text. */
  readonly written: WrittenPath | null;
  /** Why the path is not taken as it is written, where it is no regular expression. */
  readonly problems: readonly ObjectProblem[];
  /** Null where its routes have those of the whole object. */
  readonly settings: RouteSettings | null;
  /** Null where its path is not rewritten. */
  readonly rewrite: PathRewrite | null;
}

/** A path as an object has it, and its type; ImplementationSpecific is a Prefix. */
export interface WrittenPath {
  readonly path: string;
  readonly type: "Exact" | "Prefix";
}

/** A path that backends get in place of the client's. */
export interface PathRewrite {
  readonly settings: RouteSettings;
  /** Why it cannot be made, so that requests get 500; null where it can. */
  readonly fault: string | null;
}

/** What makes the paths of whole hosts regular expressions. */
export interface RegexWish {
  /** Whatever its paths. */
  readonly usesRegex: boolean;
  /** As soon as one of its paths is another one; null for none. */
  readonly target: string | null;
}

export interface TlsModel {
  /** `spec.tls[0]`. */
  readonly field: string;
  /** Null stands for the names in the certificate. */
  readonly hosts: readonly TlsHost[] | null;
  /** Null where the entry names none; of name "" where the name cannot be read. */
  readonly secret: SecretName | null;
  readonly status: LastTlsStatus;
}

export interface TlsHost {
  /** `spec.tls[0].hosts[1]`. */
  readonly field: string;
  readonly host: string;
}

/** Who authenticates requests. */
export interface Authenticator {
  readonly backend: ServiceBackend;
  /** Of a name that may be a host of our own; null for a Service, and for one of all Ingresses. */
  readonly host: string | null;
  /** Whether the operator has said so of all Ingresses: problems with it are no tenant's. */
  readonly isGlobal: boolean;
}

/** One annotation that closes paths. */
export interface Refusal {
  /** Without the prefix. */
  readonly name: string;
  /** `metadata.annotations["…"]`. */
  readonly field: string;
  /** Whether ingress-nginx applies it to the whole host. */
  readonly isHostWide: boolean;
  /** What is wrong with its value; null where it is not supported, whatever its value. */
  readonly fault: string | null;
  readonly remedy: string;
  /** Of one that is supported, and closes paths only for want of the profile nginx. */
  readonly needsProfile?: true;
  /** Of the fault. */
  readonly facts?: ProblemFacts;
}

/** A Secret of the namespace of the object that needs it. */
export interface RequiredSecret {
  readonly namespace: string;
  readonly name: string;
  /** Of the Ingress without it: its fault, of which the reason follows. */
  readonly refusal: Refusal;
}

/** What `backend-protocol` requires of the Service's port. */
export interface ProtocolWish {
  readonly protocols: readonly Upstream["protocol"][];
  readonly remedy: string;
}

/** The very same as before where the objects are. */
export interface SourceList {
  /** The oldest first. */
  readonly ingresses: readonly Source[];
  /** Of reading them. */
  readonly problems: readonly ObjectProblem[];
  /** Whether some were left out since another has their name. */
  readonly hasDuplicates: boolean;
  /** Whether some are being deleted. */
  readonly hasDying: boolean;
}

/** Of the only source that has a default backend. */
export const DEFAULT_BACKEND_FIELD = "spec.defaultBackend";
