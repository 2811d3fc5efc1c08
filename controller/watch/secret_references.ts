/**
 * Which Secrets have to be read. In: the objects that a translation sees, and which Ingresses are
 * ours. Out: the names of the Secrets that it will ask for, and of no others.
 *
 * Pure; what an object names is read once, so a call costs a look at each object.
 */
import type { Resources } from "../kube/resources.ts";
import { type ClassOptions, ownIngresses } from "../translate/ingress/class.ts";
import type { DefaultCertificate } from "../translate/certificates/default_certificate.ts";
import { keyOf } from "../base/identity.ts";
import type { IngressObject } from "../translate/ingress/ingress_object.ts";
import { asList, fieldOf } from "../base/json.ts";
import { oncePerObject } from "../base/memo.ts";
import { isDnsName } from "../base/names.ts";
import { ProblemList } from "../base/problems.ts";
import type { DefaultBackend } from "../translate/routes/routes.ts";
import { type ServiceModel, serviceModel } from "../translate/backends/service.ts";
import { SECRET_ANNOTATIONS } from "../translate/annotations/own_annotation_names.ts";

export interface ReferenceOptions extends ClassOptions {
  /** Its Service may name Secrets, too. */
  readonly defaultBackend: DefaultBackend | null;
  readonly defaultCertificate: DefaultCertificate | null;
}

/**
 * The Secrets of `spec.tls` of each Ingress that is ours, and those that a Service which one of them
 * leads to names for TLS to its endpoints, and the default certificate's; as `namespace/name`. A name that no Secret can have is
 * left out.
 */
export function referencedSecrets(
  resources: Pick<Resources, "ingresses" | "ingressClasses" | "services">,
  options: ReferenceOptions,
): Set<string> {
  const { ingresses, ingressClasses, services } = resources;
  // A translation reports the same problems, where somebody sees them.
  const own = ownIngresses(ingresses, ingressClasses, options, new ProblemList());
  const secrets = new Set(own.flatMap((ingress) => references(ingress).secrets));
  if (options.defaultCertificate !== null) secrets.add(keyOf(options.defaultCertificate));
  const naming = services.flatMap((service) => {
    const model = serviceModel(service);
    return model !== null && secretsOf(model).length > 0 ? [model] : [];
  });
  if (naming.length === 0) return secrets;
  const reached = new Set(own.flatMap((ingress) => references(ingress).services));
  if (options.defaultBackend !== null) reached.add(keyOf(options.defaultBackend));
  for (const service of naming) {
    if (!reached.has(keyOf(service.identity.ref))) continue;
    for (const secret of secretsOf(service)) secrets.add(secret);
  }
  return secrets;
}

interface References {
  /** Keys. */
  readonly secrets: readonly string[];
  readonly services: readonly string[];
}

const NONE: References = { secrets: [], services: [] };

const references = oncePerObject((object): References => {
  const { identity, object: ingress } = object as IngressObject;
  if (identity === null) return NONE;
  const { namespace } = identity.ref;
  const spec = fieldOf(ingress, "spec");
  const backends = (asList(fieldOf(spec, "rules")) ?? [])
    .flatMap((rule) => asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? [])
    .map((path) => fieldOf(path, "backend"));
  return {
    secrets: keys(
      namespace,
      (asList(fieldOf(spec, "tls")) ?? []).map((entry) => fieldOf(entry, "secretName")),
    ),
    services: keys(
      namespace,
      [fieldOf(spec, "defaultBackend"), ...backends]
        .map((backend) => fieldOf(fieldOf(backend, "service"), "name")),
    ),
  };
}) as (ingress: IngressObject) => References;

const secretsOf = oncePerObject((object): readonly string[] => {
  const { identity, object: service } = object as ServiceModel;
  const annotations = fieldOf(fieldOf(service, "metadata"), "annotations");
  return keys(
    identity.ref.namespace,
    SECRET_ANNOTATIONS.map((name) => fieldOf(annotations, name)),
  );
}) as (service: ServiceModel) => readonly string[];

function keys(namespace: string, names: readonly unknown[]): string[] {
  const known = names.filter((name): name is string => typeof name === "string" && isDnsName(name));
  return [...new Set(known)].map((name) => keyOf({ namespace, name }));
}
