/**
 * Which paths return 503 for an annotation that is not supported. In: Ingresses with their refusals,
 * and what the operator accepts. Out: the answer for the paths of an Ingress and a host, with an
 * error for each refusal that closes paths and a warning for each one that is accepted.
 */
import type { ProblemFacts } from "../../../shared/problem.ts";
import type { ReplyAction, Upstream } from "../../../shared/snapshot/types.ts";
import { quote } from "../../base/json.ts";
import type { ProblemList } from "../../base/problems.ts";
import {
  closedAnswer,
  fieldOfAnnotation,
  NEEDS_PROFILE,
  PROFILE_REMEDY,
  UNSUPPORTED,
} from "../annotations/nginx/refusals.ts";
import { NGINX_PREFIX } from "../annotations/nginx/table.ts";
import { ACCEPT_ANNOTATION, accepterOf } from "../annotations/own_annotations.ts";
import type { Ownership } from "../hosts/ownership.ts";
import { wildcardOver } from "../model/host.ts";
import type { Refusal, Source } from "../model/source.ts";
import type { HostIndex } from "./host_index.ts";

export interface RefusalOptions {
  /** Annotations of ingress-nginx, without the prefix, that close nothing. */
  readonly acceptUnsupported: readonly string[];
  /** Whether an Ingress may name some by `pingress.io/accept-unsupported`. */
  readonly allowAcceptUnsupportedAnnotation: boolean;
}

interface Closed {
  readonly by: Source;
  readonly name: string;
  readonly fault: string;
  readonly facts: ProblemFacts | undefined;
  readonly action: ReplyAction;
}

export class Closures {
  readonly #options: RefusalOptions;
  readonly #ownership: Ownership;
  readonly #index: HostIndex;
  readonly #problems: ProblemList;
  readonly #ingresses = new Map<Source, ReplyAction>();
  readonly #sources: readonly Source[];
  /** By host, and where hosts have owners also by namespace. */
  readonly #hosts = new Map<string, Closed>();
  /** Read once, for messages. */
  #namersOfHosts: ReadonlyMap<string, readonly Source[]> | null = null;
  /** By namespace, of Ingresses not all of whose hosts are known. */
  readonly #namespaces = new Map<string, Closed>();

  /** @param index Of all Ingresses, of which `ingresses` may be a part. */
  constructor(
    ingresses: readonly Source[],
    index: HostIndex,
    options: RefusalOptions,
    ownership: Ownership,
    problems: ProblemList,
  ) {
    this.#options = options;
    this.#ownership = ownership;
    this.#index = index;
    this.#problems = problems;
    this.#sources = ingresses;
    for (const ingress of ingresses) {
      if (ingress.accepted !== null && !options.allowAcceptUnsupportedAnnotation) {
        problems.about(ingress.identity.ref).warning(
          `metadata.annotations[${JSON.stringify(ACCEPT_ANNOTATION)}]`,
          {
            reason: "AnnotationUnknown",
            message: `annotation ${quote(ACCEPT_ANNOTATION)} is not allowed, so it has no effect`,
            remedy: "Start the controller with --allow-accept-unsupported-annotation, or remove " +
              "the annotation",
          },
        );
      }
      for (const refusal of ingress.refusals) this.#refuse(ingress, refusal);
      const foreign = foreignAuthenticator(ingress, ownership);
      if (foreign !== null) this.#refuse(ingress, foreign);
    }
  }

  /** Whether routes have the host: those of a namespace that owns it, or of an Ingress, where hosts are shared. */
  isNamed(host: string): boolean {
    return ownedPattern(host, this.#ownership) !== undefined || this.#index.names(host);
  }

  /** The answer for what `ingress` has of `host`, null where its backends decide. */
  of(ingress: Source, host: string | null): ReplyAction | null {
    const own = this.#ingresses.get(ingress) ?? ingress.closure;
    if (own !== null) return own;
    if (host === null || this.#hosts.size + this.#namespaces.size === 0) return null;
    const ofHost = this.#hosts.get(this.#hostKey(ingress, host));
    const closed = ofHost ?? this.#namespaces.get(ingress.identity.ref.namespace);
    if (closed === undefined) return null;
    const rule = ingress.rules.find((each) => each.host === host);
    this.#problems.about(ingress.identity.ref).error(`${rule?.field ?? "spec"}.host`, {
      reason: "NginxAnnotation",
      message: `annotation ${quote(NGINX_PREFIX + closed.name)} of ${closed.by.identity.label} ` +
        (ofHost === undefined
          ? `holds for whole hosts, of which only a part is known, and ${closed.fault}, so all paths ` +
            "of this namespace return 503"
          : `holds for the whole host and ${closed.fault}, so the paths of the host return 503`),
      remedy: ofHost === undefined
        ? `Remove the annotation from ${closed.by.identity.label}, or split that Ingress`
        : `Remove the annotation from ${closed.by.identity.label}, or use another host`,
      facts: closed.facts,
    });
    return closed.action;
  }

  /** As `of`, once it is known how the backend is spoken to. */
  ofProtocol(ingress: Source, protocol: Upstream["protocol"] | null): ReplyAction | null {
    const wish = ingress.protocolWish;
    if (wish === null || protocol === null || wish.protocols.includes(protocol)) return null;
    const name = "backend-protocol";
    const { remedy } = wish;
    const field = fieldOfAnnotation(name);
    const refusal = { name, field, isHostWide: false, fault: null, remedy };
    return this.#reportAccepted(ingress, refusal) ? null : this.#reportClosed(ingress, refusal);
  }

  #refuse(ingress: Source, refusal: Refusal): void {
    if (this.#reportAccepted(ingress, refusal)) return;
    const action = this.#reportClosed(ingress, refusal);
    if (!this.#ingresses.has(ingress)) this.#ingresses.set(ingress, action);
    if (!refusal.isHostWide) return;
    const { name, facts } = refusal;
    const closed = { by: ingress, name, fault: faultOf(refusal), facts, action };
    const { namespace } = ingress.identity.ref;
    if (ingress.closesNamespace && !this.#namespaces.has(namespace)) {
      this.#namespaces.set(namespace, closed);
    }
    for (const host of closedHosts(ingress)) {
      const key = this.#hostKey(ingress, host);
      if (!this.#hosts.has(key)) this.#hosts.set(key, closed);
    }
  }

  /** What is invalid cannot be accepted: it may be meant to protect. */
  #reportAccepted(ingress: Source, { name, field, fault, needsProfile }: Refusal): boolean {
    if (fault !== null) return false;
    const accepter = accepterOf(name, ingress.accepted, this.#options);
    if (accepter === null) return false;
    this.#problems.about(ingress.identity.ref).warning(field, {
      reason: "NginxAnnotation",
      message: `annotation ${quote(NGINX_PREFIX + name)} ${
        needsProfile
          ? "applies without the profile nginx"
          : "is not supported, and the paths are served without it"
      }: ${accepter === "operator" ? "--accept-unsupported" : ACCEPT_ANNOTATION} accepts that`,
      remedy: needsProfile ? profileRemedy(ingress) : "Remove the annotation",
    });
    return true;
  }

  #reportClosed(ingress: Source, refusal: Refusal): ReplyAction {
    const { name, field, isHostWide, fault, facts } = refusal;
    const remedy = refusal.needsProfile ? profileRemedy(ingress) : refusal.remedy;
    this.#problems.about(ingress.identity.ref).error(field, {
      reason: "NginxAnnotation",
      message: `annotation ${quote(NGINX_PREFIX + name)} ${faultOf(refusal)}, so ` +
        (isHostWide ? this.#hostWideConsequence(ingress) : "its paths return 503"),
      remedy: fault === null ? `${remedy}, or accept it by --accept-unsupported=${name}` : remedy,
      facts,
    });
    return closedAnswer(name, faultOf(refusal), ingress.identity.label);
  }

  #hostWideConsequence(ingress: Source): string {
    const isShared = this.#isShared();
    const foreign = isShared ? this.#foreignNamerOf(ingress) : null;
    const also = foreign === null
      ? ""
      : `, also of other namespaces such as those of ${foreign.identity.label},`;
    return ingress.closesNamespace
      ? `all paths of this namespace${also} return 503, as only a part of its hosts is known`
      : `all paths of its hosts${isShared ? also : " in this namespace"} return 503`;
  }

  /** The first Ingress of another namespace with a host that this one closes. */
  #foreignNamerOf(ingress: Source): Source | null {
    for (const host of closedHosts(ingress)) {
      const foreign = this.#namers().get(host)?.find((one) => !isOfSameNamespace(one, ingress));
      if (foreign !== undefined) return foreign;
    }
    return null;
  }

  /** Whether a host is nobody's, so that what holds for it holds for all namespaces, as in ingress-nginx. */
  #isShared(): boolean {
    return this.#ownership.mode === "shared";
  }

  #hostKey({ identity }: Source, host: string): string {
    return this.#isShared() ? host : `${identity.ref.namespace} ${host}`;
  }

  /** The first Ingress with rules for a host, and the first one of another namespace. */
  #namers(): ReadonlyMap<string, readonly Source[]> {
    if (this.#namersOfHosts !== null) return this.#namersOfHosts;
    const namers = new Map<string, Source[]>();
    for (const source of this.#sources) {
      for (const { host } of source.rules) {
        if (host === null) continue;
        const known = namers.get(host);
        if (known === undefined) namers.set(host, [source]);
        else if (known.length === 1 && !isOfSameNamespace(known[0], source)) known.push(source);
      }
    }
    return this.#namersOfHosts = namers;
  }
}

function isOfSameNamespace(a: Source, b: Source): boolean {
  return a.identity.ref.namespace === b.identity.ref.namespace;
}

/** Hosts of which all paths are closed. */
function closedHosts({ rules, closesHosts }: Source): readonly string[] {
  return [...rules.flatMap(({ host }) => host ?? []), ...closesHosts];
}

/** Without a class it has the profile where that of the default class does, or that of all classes that are served. */
function profileRemedy({ hasClass }: Source): string {
  return hasClass ? PROFILE_REMEDY : `Name a class in spec.ingressClassName. ${PROFILE_REMEDY}`;
}

/** A clause. */
function faultOf({ fault, needsProfile }: Pick<Refusal, "fault" | "needsProfile">): string {
  return fault ?? (needsProfile ? NEEDS_PROFILE : UNSUPPORTED);
}

/** Null where it is no host of another namespace, which could let anybody in. */
function foreignAuthenticator(
  { authenticator, identity: { ref: { namespace } } }: Source,
  ownership: Ownership,
): Refusal | null {
  const host = authenticator?.host ?? null;
  if (host === null) return null;
  const owned = ownedPattern(host, ownership);
  if (owned === undefined || ownership.standing(owned, namespace) !== "refused") return null;
  const name = "auth-url";
  return {
    ...{ name, field: fieldOfAnnotation(name), isHostWide: false },
    fault: `names a host of namespace ${ownership.owners.get(owned)!.namespace}`,
    remedy: "Use a host of the Ingress's namespace, or have the other one share it by " +
      "pingress.io/share-host-with",
  };
}

/** The pattern of the host that a namespace owns: its own, or else the wildcard over it. */
function ownedPattern(host: string, { owners }: Ownership): string | undefined {
  return [host, wildcardOver(host)].find((pattern) => owners.has(pattern));
}
