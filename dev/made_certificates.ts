/**
 * Certificates for hosts that have none. In: a snapshot. Out: the same snapshot with a certificate
 * for every host of a route and every listener of a Gateway, and one for this machine's own names, signed by
 * an authority that lives as long as this process. Each is generated when it is first looked at, as by a
 * handshake: a folder may have thousands of hosts, and most of them get no request.
 */
import type { ServerCertificate } from "../proxy/certificates/store.ts";
import { hostPatternTakes } from "../proxy/router/host.ts";
import type {
  Certificate,
  Listener,
  PemSecret,
  PemText,
  Route,
  Snapshot,
} from "../shared/snapshot/types.ts";
import type { CertificateAuthority, IssuedCertificate } from "./certificate_authority.ts";
import { isOfGateway } from "./gateway/gateway_routes.ts";

/** How the made ones are shown in place of a Secret's name. */
const MADE_HERE = "made here";

/** For clients that name no host of a route. */
const OWN_NAMES = ["localhost", "127.0.0.1", "::1"];
const OWN_ID = "made for this machine";

/** The form in which the proxy uses it is `served`. */
class MadeCertificate implements Certificate {
  readonly id: string;
  readonly hosts: readonly string[];
  readonly plain?: readonly string[];
  readonly origin = { kind: "Certificate", namespace: "", name: MADE_HERE, field: "" };
  readonly served: ServerCertificate;
  readonly #issue: () => IssuedCertificate;
  #issued: IssuedCertificate | null = null;

  constructor(
    id: string,
    hosts: readonly string[],
    plain: readonly string[] | undefined,
    issue: () => IssuedCertificate,
  ) {
    this.id = id;
    this.hosts = hosts;
    if (plain !== undefined) this.plain = plain;
    this.#issue = issue;
    const issued = () => this.#pair;
    this.served = {
      id,
      hosts,
      ...(plain === undefined ? {} : { plain }),
      get chain() {
        return issued().chain;
      },
      get key() {
        return issued().key;
      },
    };
  }

  get chain(): PemText {
    return { kind: "pem", pem: this.#pair.chain };
  }

  get key(): PemSecret {
    return { kind: "secret", pem: this.#pair.key };
  }

  get #pair(): IssuedCertificate {
    return this.#issued ??= this.#issue();
  }
}

/** A snapshot in which every host has a certificate. */
export interface CompletedSnapshot {
  readonly snapshot: Snapshot;
  /** Those that were made here. */
  readonly made: readonly ServerCertificate[];
}

export class MadeCertificates {
  readonly #authority: CertificateAuthority;
  /** Whether plain HTTP to their hosts is redirected, which in a cluster have none. */
  readonly #redirects: boolean;
  /** By host pattern. One that stays in use stays as it is: connections are not told to move. */
  #made = new Map<string, MadeCertificate>();
  #own: MadeCertificate | null = null;

  private constructor(authority: CertificateAuthority, redirects: boolean) {
    this.#authority = authority;
    this.#redirects = redirects;
  }

  /** @param redirects Whether plain HTTP to hosts that get one is redirected to HTTPS. */
  static async create(redirects: boolean): Promise<MadeCertificates> {
    // Loaded now: explaining needs the rest of this file alone, and no library of certificates.
    const { CertificateAuthority } = await import("./certificate_authority.ts");
    const authority = await CertificateAuthority.create("Pingress on this machine");
    return new MadeCertificates(authority, redirects);
  }

  /** The authority's certificate in PEM, for clients to trust. */
  get authority(): string {
    return this.#authority.certificate;
  }

  complete(snapshot: Snapshot): CompletedSnapshot {
    const made = new Map<string, MadeCertificate>();
    const listeners: Listener[] = [];
    for (const listener of snapshot.listeners ?? []) {
      const names = namesWithout(listener, snapshot.routes);
      if (names === null) {
        listeners.push(listener);
        continue;
      }
      const id = `made for ${[listener.id, ...names].join(" ")}`;
      made.set(id, this.#made.get(id) ?? this.#make(id, names, []));
      listeners.push({ ...listener, certificates: [id] });
    }
    for (const host of hostsOf(snapshot)) {
      if (host === "*" || made.has(host) || certificateFor(snapshot, host) !== null) continue;
      made.set(host, this.#made.get(host) ?? this.#make(`made for ${host}`, [host], [host]));
    }
    this.#made = made;
    this.#own ??= this.#make(OWN_ID, OWN_NAMES, []);
    const all = [...made.values(), this.#own];
    return {
      snapshot: {
        ...snapshot,
        ...(listeners.length === 0 ? {} : { listeners }),
        ...(this.#redirects ? {} : withoutRedirectsToMade(snapshot)),
        certificates: [...snapshot.certificates, ...all],
        defaultCertificate: snapshot.defaultCertificate ?? OWN_ID,
      },
      made: all.map(({ served }) => served),
    };
  }

  #make(id: string, names: readonly string[], hosts: readonly string[]): MadeCertificate {
    const plain = this.#redirects || hosts.length === 0 ? undefined : hosts;
    return new MadeCertificate(id, hosts, plain, () => this.#authority.issue({ names }));
  }
}

/** Policies, of which none redirects plain HTTP because of a TLS entry without a certificate. */
function withoutRedirectsToMade({ policies }: Snapshot): Pick<Snapshot, "policies"> {
  if (policies === undefined) return {};
  return {
    policies: policies.map((policy) =>
      policy.httpsRedirect?.when === "tls"
        ? { ...policy, httpsRedirect: { ...policy.httpsRedirect, when: "certificate" } }
        : policy
    ),
  };
}

/** Of routes of Ingresses, and their aliases. */
function hostsOf({ routes, hostSettings = [] }: Snapshot): string[] {
  const aliases = hostSettings.filter(({ aliasOf }) => aliasOf !== undefined);
  return [
    ...routes.filter((route) => !isOfGateway(route)).map(({ host }) => host),
    ...aliases.map(({ id }) => id),
  ];
}

/** What a listener that has no certificate needs one for; null for others. */
function namesWithout(
  { id, protocol, hostname, certificates }: Listener,
  routes: readonly Route[],
): readonly string[] | null {
  if (protocol !== "HTTPS" || certificates === undefined || certificates.length > 0) return null;
  const hosts = routes.filter(({ listeners }) => listeners?.includes(id)).map(({ host }) => host);
  const named = [...(hostname === undefined ? [] : [hostname]), ...hosts];
  return [...new Set([...named.filter((host) => host !== "*"), ...OWN_NAMES])];
}

/**
 * Which names a host that has no certificate of its own is shown: those of one that is made for a
 * route's host, those of this machine, or none, which is one for this machine that clients refuse.
 */
export function madeFor(snapshot: Snapshot, host: string): "host" | "machine" | "nobody" {
  const isServed = hostsOf(snapshot).some((own) => own !== "*" && hostPatternTakes(own, host));
  if (isServed) return "host";
  return OWN_NAMES.includes(host) ? "machine" : "nobody";
}

/** Whether it comes from `MadeCertificates`. */
export function isMadeHere({ origin }: Certificate): boolean {
  return origin.kind === "Certificate";
}

/** The certificate whose names cover all that a route's host stands for. */
export function certificateFor(snapshot: Snapshot, host: string): Certificate | null {
  const dot = host.indexOf(".");
  const wildcard = host.startsWith("*.") || dot === -1 ? host : `*${host.slice(dot)}`;
  const find = (name: string) => snapshot.certificates.find(({ hosts }) => hosts.includes(name));
  return find(host) ?? find(wildcard) ?? null;
}
