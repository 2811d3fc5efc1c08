/**
 * Which Secrets have to be read. In: the objects that a translation sees, and which Ingresses are
 * ours. Out: who names which Secrets, of those that it will ask for, and of no others.
 *
 * Pure; what an object names is read once, so a call costs a look at each object.
 */
import type { Resources } from "../kube/resources.ts";
import { type ClassOptions, ownIngresses } from "../translate/ingress/class.ts";
import type { DefaultCertificate } from "../translate/certificates/default_certificate.ts";
import { type Identity, keyOf, type ObjectIndex } from "../base/identity.ts";
import type { IngressObject, IngressObjects } from "../translate/ingress/ingress_object.ts";
import { asList, fieldOf } from "../base/json.ts";
import { ObjectCache } from "../base/memo.ts";
import { isDnsName } from "../base/names.ts";
import { ProblemList } from "../base/problems.ts";
import type { DefaultBackend } from "../translate/routes/routes.ts";
import type { ServiceModel } from "../translate/backends/service.ts";
import { readRequiredSecret } from "../translate/annotations/nginx/access.ts";
import { NginxAnnotations } from "../translate/annotations/nginx/nginx_annotations.ts";
import type { ObjectName } from "../translate/annotations/nginx/rows/value.ts";
import { isHonoured } from "../translate/annotations/nginx/table.ts";
import type { GatewayReaders } from "../translate/gateway/gateway_readers.ts";
import type { ReferenceDemand, ReferenceUse } from "./reference_ledger.ts";
import {
  type GatewayLists,
  type GatewaySecrets,
  secretsOfGateways,
} from "../translate/gateway/secret_references.ts";
import { SECRET_ANNOTATIONS } from "../translate/annotations/own_annotation_names.ts";

export interface ReferenceOptions extends ClassOptions {
  /** Its Service may name Secrets, too. */
  readonly defaultBackend: DefaultBackend | null;
  readonly defaultCertificate: DefaultCertificate | null;
}

/** Who reads the objects, each once; the readers of the translator, so that it is once for both. */
export interface ReferenceReaders {
  readonly ingresses: IngressObjects;
  readonly services: ObjectIndex<ServiceModel>;
  readonly gateway: GatewayReaders;
}

export class SecretReferences {
  readonly #readers: ReferenceReaders;
  readonly #options: ReferenceOptions;
  readonly #ofIngress = new ObjectCache(readReferences);
  readonly #ofService = new ObjectCache(readSecrets);

  constructor(readers: ReferenceReaders, options: ReferenceOptions) {
    this.#readers = readers;
    this.#options = options;
  }

  /**
   * The Secrets of `spec.tls` and of annotations of each Ingress that is ours, those that a Service
   * which one of them leads to names for TLS to its endpoints, the default certificate's, and those of
   * Gateways; as `namespace/name`. A name that no Secret can have is left out.
   */
  of(
    resources: Pick<Resources, "ingresses" | "ingressClasses" | "services"> & GatewayLists,
  ): ReferenceDemand {
    const { defaultBackend, defaultCertificate } = this.#options;
    const own = ownIngresses(
      resources.ingresses.map((object) => this.#readers.ingresses.of(object)),
      resources.ingressClasses,
      this.#options,
      // A translation reports the same problems, where somebody sees them.
      new ProblemList(),
    );
    const uses = own.flatMap((ingress) => this.#ofIngress.of(ingress).use ?? []);
    for (const named of secretsOfGateways(resources, this.#readers.gateway)) {
      uses.push(useOfGateway(named));
    }
    const naming = resources.services.flatMap((service) => {
      const model = this.#readers.services.model(service);
      return model !== null && this.#ofService.of(model).others.length > 0 ? [model] : [];
    });
    const global = defaultCertificate === null ? [] : [keyOf(defaultCertificate)];
    if (naming.length === 0) return { uses, global };
    const reached = new Set(own.flatMap((ingress) => this.#ofIngress.of(ingress).services));
    if (defaultBackend !== null) reached.add(keyOf(defaultBackend));
    for (const service of naming) {
      if (reached.has(keyOf(service.identity.ref))) uses.push(this.#ofService.of(service));
    }
    return { uses, global };
  }
}

interface References {
  /** Null where it names none. */
  readonly use: ReferenceUse | null;
  /** Keys. */
  readonly services: readonly string[];
}

const NONE: References = { use: null, services: [] };

function readReferences({ identity, object: ingress }: IngressObject): References {
  if (identity === null) return NONE;
  const { namespace } = identity.ref;
  const spec = fieldOf(ingress, "spec");
  const annotations = fieldOf(fieldOf(ingress, "metadata"), "annotations");
  const nginx = new NginxAnnotations(annotations, spec);
  const backends = (asList(fieldOf(spec, "rules")) ?? [])
    .flatMap((rule) => asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? [])
    .map((path) => fieldOf(path, "backend"));
  const certificates = keys(
    namespace,
    (asList(fieldOf(spec, "tls")) ?? []).map((entry) => fieldOf(entry, "secretName")),
  );
  const others = [...annotated("Secret", identity, nginx), ...required(identity, nginx)];
  return {
    use: certificates.length + others.length === 0
      ? null
      : { owner: identity, certificates, listeners: [], others },
    services: [
      ...keys(
        namespace,
        [fieldOf(spec, "defaultBackend"), ...backends]
          .map((backend) => fieldOf(fieldOf(backend, "service"), "name")),
      ),
      ...annotated("Service", identity, nginx),
    ],
  };
}

/** Objects of its own namespace that annotations name: others are never used. */
function annotated(
  kind: "Secret" | "Service",
  { ref }: Identity,
  { written }: NginxAnnotations,
): string[] {
  return written.flatMap(({ row, text }) => {
    if (row === null || row.value.refersTo !== kind || !isHonoured(row)) return [];
    const named = text === null ? null : row.value.read(text) as ObjectName | null;
    if (named === null || (named.namespace ?? ref.namespace) !== ref.namespace) return [];
    return keyOf({ namespace: ref.namespace, name: named.name });
  });
}

/** Nothing of it is used, but whether it is there decides. */
function required({ ref }: Identity, nginx: NginxAnnotations): string[] {
  const secret = readRequiredSecret(nginx, ref.namespace);
  return secret === null ? [] : [keyOf(secret)];
}

function readSecrets({ identity, object: service }: ServiceModel): ReferenceUse {
  const annotations = fieldOf(fieldOf(service, "metadata"), "annotations");
  const others = keys(
    identity.ref.namespace,
    SECRET_ANNOTATIONS.map((name) => fieldOf(annotations, name)),
  );
  return { owner: identity, certificates: [], listeners: [], others };
}

function useOfGateway({ gateway, secrets }: GatewaySecrets): ReferenceUse {
  return { owner: gateway, certificates: [], listeners: secrets, others: [] };
}

function keys(namespace: string, names: readonly unknown[]): string[] {
  const known = names.filter((name): name is string => typeof name === "string" && isDnsName(name));
  return [...new Set(known)].map((name) => keyOf({ namespace, name }));
}
