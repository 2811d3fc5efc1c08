/**
 * Certificates for hosts that have none. In: a snapshot. Out: the same snapshot with a certificate
 * for every host of a route and every listener of a Gateway, and one for this machine's own names, signed by
 * an authority that lives as long as this process.
 */
import { hostPatternTakes } from "../proxy/router/host.ts";
import type { Certificate, Listener, Route, Snapshot } from "../shared/snapshot/types.ts";
import { CertificateAuthority } from "./certificate_authority.ts";
import { isOfGateway } from "./gateway/gateway_routes.ts";

/** How the made ones are shown in place of a Secret's name. */
const MADE_HERE = "made here";

/** For clients that name no host of a route. */
const OWN_NAMES = ["localhost", "127.0.0.1", "::1"];
const OWN_ID = "made for this machine";

export class MadeCertificates {
  readonly #authority: CertificateAuthority;
  /** Whether plain HTTP to their hosts is redirected, which in a cluster have none. */
  readonly #redirects: boolean;
  /** By host pattern. One that stays in use stays as it is: connections are not told to move. */
  #made = new Map<string, Certificate>();
  #own: Certificate | null = null;

  private constructor(authority: CertificateAuthority, redirects: boolean) {
    this.#authority = authority;
    this.#redirects = redirects;
  }

  /** @param redirects Whether plain HTTP to hosts that get one is redirected to HTTPS. */
  static async create(redirects: boolean): Promise<MadeCertificates> {
    const authority = await CertificateAuthority.create("Pingress on this machine");
    return new MadeCertificates(authority, redirects);
  }

  /** The authority's certificate in PEM, for clients to trust. */
  get authority(): string {
    return this.#authority.certificate;
  }

  async complete(snapshot: Snapshot): Promise<Snapshot> {
    const made = new Map<string, Certificate>();
    const listeners: Listener[] = [];
    for (const listener of snapshot.listeners ?? []) {
      const names = namesWithout(listener, snapshot.routes);
      if (names === null) {
        listeners.push(listener);
        continue;
      }
      const id = `made for ${[listener.id, ...names].join(" ")}`;
      made.set(id, this.#made.get(id) ?? await this.#make(id, names, []));
      listeners.push({ ...listener, certificates: [id] });
    }
    for (const host of hostsOf(snapshot)) {
      if (host === "*" || made.has(host) || certificateFor(snapshot, host) !== null) continue;
      made.set(host, this.#made.get(host) ?? await this.#make(`made for ${host}`, [host], [host]));
    }
    this.#made = made;
    this.#own ??= await this.#make(OWN_ID, OWN_NAMES, []);
    return {
      ...snapshot,
      ...(listeners.length === 0 ? {} : { listeners }),
      certificates: [...snapshot.certificates, ...made.values(), this.#own],
      defaultCertificate: snapshot.defaultCertificate ?? OWN_ID,
    };
  }

  async #make(id: string, names: readonly string[], hosts: readonly string[]) {
    const { chain, key } = await this.#authority.issue({ names });
    return {
      id,
      hosts,
      ...(this.#redirects || hosts.length === 0 ? {} : { plain: hosts }),
      chain: { kind: "pem", pem: chain },
      key: { kind: "secret", pem: key },
      origin: { kind: "Certificate", namespace: "", name: MADE_HERE, field: "" },
    } satisfies Certificate;
  }
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
