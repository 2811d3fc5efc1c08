/**
 * Lookups of the Gateway API code in the objects of other stages. In: Services, Secrets, Namespaces and
 * backends as these stages have read them. Out: what a reference leads to.
 */
import type { Certificate } from "../../../shared/snapshot/types.ts";
import { keyOf } from "../../base/identity.ts";
import { describeExcess, excessOf } from "../../kube/excess.ts";
import { asObject, fieldOf } from "../../base/json.ts";
import type { BackendResolver, FoundBackends } from "../backends/backend.ts";
import type { ServiceModel } from "../backends/service.ts";
import {
  type CertificateSource,
  type CertificateSources,
  type InlineCertificate,
  isSameSource,
  type SecretModel,
} from "../certificates/certificate_source.ts";
import { type ServiceBackend, upstreamId } from "../model/backend_ref.ts";
import type { NamespaceLabels } from "./objects/attachment.ts";
import type { ServicePorts, ServiceUpstreams } from "./objects/backend_ref.ts";
import type { ShownPair, TlsSecrets } from "./certificate_refs.ts";

/** @param services By `namespace/name`. */
export function servicePorts(services: ReadonlyMap<string, ServiceModel>): ServicePorts {
  return {
    portsOf: (namespace, name) => {
      const service = services.get(keyOf({ namespace, name }));
      if (service === undefined) return null;
      const ports = service.ports.map(({ port }) => port);
      const isName = fieldOf(fieldOf(service.object, "spec"), "type") === "ExternalName";
      return isName && ports.length === 0 ? "any" : ports;
    },
  };
}

/** Secrets as certificates of listeners, and those that have been asked for. */
export class UsedSecrets implements TlsSecrets {
  readonly #secrets: ReadonlyMap<string, SecretModel>;
  readonly #sources: CertificateSources;
  /** By `namespace/name`. */
  readonly #asked = new Map<string, CertificateSource>();

  /** @param secrets By `namespace/name`. */
  constructor(secrets: ReadonlyMap<string, SecretModel>, sources: CertificateSources) {
    this.#secrets = secrets;
    this.#sources = sources;
  }

  find(namespace: string, name: string): Certificate | string | null {
    const secret = this.#secrets.get(keyOf({ namespace, name }));
    if (secret === undefined) return null;
    const { reading, identity } = secret;
    const excess = excessOf(secret.object);
    if (excess !== null) {
      const [what, remedy] = describeExcess(excess);
      return `Secret ${namespace}/${name} cannot be used: ${what}. ${remedy}`;
    }
    if (!reading.ok) return `Secret ${namespace}/${name} cannot be used: ${reading.message}`;
    // It may be one that is not served although it can be read.
    const source = this.#sources.findForGateway(identity);
    this.#asked.set(identity.key, source);
    if (source.kind !== "usable") return source.reason;
    return this.#sources.modelOf(identity)?.shown ?? `Secret ${namespace}/${name} cannot be used`;
  }

  namesOf(namespace: string, name: string): readonly string[] {
    const source = this.#asked.get(keyOf({ namespace, name }));
    return source?.kind === "usable" ? source.names : [];
  }

  asPublished(published: InlineCertificate): ShownPair | null {
    const model = this.#sources.asPublished(published);
    return model?.source.kind === "usable" && model.shown !== null
      ? { certificate: model.shown, names: model.source.names }
      : null;
  }

  /** Whether later sources have the same for what was asked for; what is wrong with it is a problem there, too. */
  areSame(sources: CertificateSources): boolean {
    let areSame = true;
    for (const [key, source] of this.#asked) {
      const { secret: ref, label } = source;
      const now = sources.findForGateway({ ref, key, label });
      areSame &&= isSameSource(source, now);
    }
    return areSame;
  }
}

/** @param namespaces Their metadata; null where it cannot be read. */
export function namespaceLabels(namespaces: readonly unknown[] | null): NamespaceLabels {
  if (namespaces === null) return null;
  return new Map(namespaces.map((namespace) => {
    const metadata = fieldOf(namespace, "metadata");
    const labels = asObject(fieldOf(metadata, "labels")) ?? {};
    return [String(fieldOf(metadata, "name")), labels as Readonly<Record<string, string>>];
  }));
}

/** Upstreams of Services, counted, so that those that nobody asks for any more can be released. */
export class UsedUpstreams implements ServiceUpstreams {
  readonly #backends: BackendResolver;
  readonly #counts = new Map<string, number>();
  /** What each Service's port came to, by id of the upstream. */
  readonly #asked = new Map<
    string,
    { readonly args: readonly [string, string, number]; readonly fault: string | null }
  >();
  readonly #found: FoundBackends;

  constructor(backends: BackendResolver) {
    this.#backends = backends;
    this.#found = backends.found();
  }

  faultOf(namespace: string, name: string, port: number): string | null {
    const id = upstreamId(namespace, name, port);
    const backend = {
      kind: "service" as const,
      ...{ namespace, name, port, id, wish: null },
      nameField: "",
      portField: "spec.ports",
    };
    const { action } = this.#backends.resolve(backend, null);
    const fault = action.kind === "reply" ? this.#faultText(backend, action.reason) : null;
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    this.#asked.set(id, { args: [namespace, name, port], fault });
    return fault;
  }

  #faultText(backend: ServiceBackend, reason: string): string {
    const fault = this.#backends.faultOf(backend);
    return fault === null ? reason : `${fault.message}. ${fault.remedy}`;
  }

  /** Gives back what was asked for, if that resolver's findings are the ones of before. */
  release(backends: BackendResolver): void {
    backends.release(this.#found, this.#counts);
  }

  /** Asks for the same; null where something else has become of one of them. */
  askAgain(backends: BackendResolver): UsedUpstreams | null {
    const again = new UsedUpstreams(backends);
    for (const { args, fault } of this.#asked.values()) {
      if (again.faultOf(...args) !== fault) {
        again.release(backends);
        return null;
      }
    }
    return again;
  }
}
