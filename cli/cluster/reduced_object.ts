/**
 * What is handed on of an object. In: an object of the API server. Out: the same without who wrote which field,
 * and of a Secret without all but its certificate.
 */
import type { KubeSecret } from "../../controller/kube/resources.ts";
import { type KubeObject, type Resource, SECRETS } from "../../controller/kube/types.ts";

const CERTIFICATE = "tls.crt";

export function reducedObject(resource: Resource, object: KubeObject): KubeObject {
  // Something that answers in place of the API server may give anything.
  const { managedFields: _, ...metadata } = object.metadata ?? { name: "" };
  if (resource.plural !== SECRETS.plural || resource.group !== SECRETS.group) {
    return { ...object, metadata };
  }
  // A Secret that was applied by kubectl has all its data in an annotation.
  const { annotations: __, ...named } = metadata;
  const { type, data } = object as KubeObject & KubeSecret;
  const certificate = data?.[CERTIFICATE];
  const secret: KubeObject & Pick<KubeSecret, "type" | "data"> = {
    metadata: named,
    type,
    data: certificate === undefined ? {} : { [CERTIFICATE]: certificate },
  };
  return secret;
}
