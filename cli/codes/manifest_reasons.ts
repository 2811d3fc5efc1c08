/**
 * Reasons of problems that only files have: what an API server would reject, and what a folder has
 * beside objects. In: nothing. Out: what each means and what to do; a test compares it with `dev/`.
 */

export interface ManifestReason {
  readonly reason: string;
  /** What is wrong, and what follows from it; a clause. */
  readonly meaning: string;
  readonly remedy: string;
}

const ROWS: readonly (readonly [reason: string, meaning: string, remedy: string])[] = [
  [
    "NotReadable",
    "a file cannot be read, so its objects are left out",
    "Correct its permissions, or name another folder.",
  ],
  [
    "NotParsable",
    "a document is no valid YAML or JSON; the last version that was valid stays active",
    "Correct the line that the message names.",
  ],
  [
    "NotAnObject",
    "a document is no Kubernetes object",
    "Write apiVersion, kind and metadata, or move the file out of the folder.",
  ],
  [
    "ApiVersionNotSupported",
    "the apiVersion of the kind is not supported, so the object is left out",
    "Write the apiVersion that the message names.",
  ],
  ["KindIgnored", "objects of the kind are not read", "No action required."],
  [
    "KindUnknown",
    "no kind has this name, so the object is left out",
    "Correct the name of the kind.",
  ],
  ["FileIgnored", "the file is none of Kubernetes objects", "No action required."],
  [
    "KustomizationNotApplied",
    "Kustomize changes objects, and they are read as the files have them",
    "Render it by kubectl kustomize FOLDER > all.yaml, and name that file.",
  ],
  [
    "ManifestsMissing",
    "nothing in the folder is read, so nothing is served",
    "Name a folder that has Ingresses or Gateways.",
  ],
  [
    "FieldUnknown",
    "the kind has no such field there; kubectl apply rejects the object",
    "Correct the name of the field, or move it to where it belongs.",
  ],
  [
    "ValueNotString",
    "a value of an annotation, label or other string map is no string; kubectl apply rejects the object",
    'Write the value with quotes: "true".',
  ],
  [
    "ValueTypeWrong",
    "a value has another type than the field; kubectl apply rejects the object",
    "Write a value of the type that the message names.",
  ],
  [
    "ValueInvalid",
    "a value is none that the field may have; kubectl apply rejects the object",
    "Write a value that the message names.",
  ],
  [
    "ClassesDiffer",
    "spec.ingressClassName and the annotation kubernetes.io/ingress.class name different classes; the API server rejects the object",
    "Remove the annotation.",
  ],
  [
    "DefaultClassNotServed",
    "the Ingress has no class, and the default class is of another controller, which serves it in a cluster",
    "Set spec.ingressClassName to a class that Pingress serves.",
  ],
  [
    "NamespaceInvalid",
    "the name of the namespace is not valid in Kubernetes",
    "Write metadata.namespace in lower-case letters, digits and dashes.",
  ],
  [
    "AnnotationInvalid",
    "the value of dev.pingress.io/endpoint is not valid",
    "Write an address of this machine with a port, such as 127.0.0.1:3000.",
  ],
  [
    "MappingUnused",
    "no Ingress or HTTPRoute names the Service of --map or dev.pingress.io/endpoint",
    "Correct the name of the Service or its port, or remove the mapping.",
  ],
  [
    "CertificateExpiresSoon",
    "the certificate expires within days",
    "Renew the certificate, and check why that has not happened by itself.",
  ],
  [
    "ClassNotServed",
    "the class of the object is not in the folder, or is of another controller",
    "Correct the name of the class, or serve it by --ingress-class or --nginx-class.",
  ],
  [
    "ParentNotServed",
    "the route names a Gateway that is not in the folder, or another kind",
    "Correct the parentRef, or add the Gateway.",
  ],
  ["NoParent", "the route names no Gateway, so nothing serves it", "Add parentRefs."],
  [
    "KindNotServed",
    "routes of the kind are not served: GRPCRoute, TLSRoute, TCPRoute or UDPRoute",
    "Use an HTTPRoute or an Ingress.",
  ],
];

export const MANIFEST_REASONS: readonly ManifestReason[] = ROWS.map(
  ([reason, meaning, remedy]) => ({ reason, meaning, remedy }),
);
