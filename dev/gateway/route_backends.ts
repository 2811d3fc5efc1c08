/**
 * Services that HTTPRoutes send requests to. In: the objects of a folder, of whatever shape. Out: each with its
 * namespace and port; a reference that cannot be read is left out.
 */
import { asList, asPort, fieldOf } from "../../controller/base/json.ts";
import { refOf } from "../../controller/base/identity.ts";
import type { Resources } from "../../controller/kube/resources.ts";
import { HTTP_ROUTES, SERVICES } from "../../controller/kube/types.ts";
import { readReference } from "../../controller/translate/gateway/objects/reference.ts";

export interface RouteBackend {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export function backendsOfRoutes({ httpRoutes }: Pick<Resources, "httpRoutes">): RouteBackend[] {
  return (httpRoutes ?? []).flatMap((route) => {
    const { namespace } = refOf(HTTP_ROUTES.kind, route);
    const rules = asList(fieldOf(route.spec, "rules")) ?? [];
    const refs = rules.flatMap((rule) => asList(fieldOf(rule, "backendRefs")) ?? []);
    return refs.flatMap((ref) => {
      const reference = readReference(ref, { group: "", kind: SERVICES.kind, namespace });
      const port = asPort(fieldOf(ref, "port"));
      return reference === null || port === null || reference.group !== "" ||
          reference.kind !== SERVICES.kind
        ? []
        : [{ namespace: reference.namespace, name: reference.name, port }];
    });
  });
}
