/** What an HTTPRoute names. In: an object of unknown shape. Out: itself, its Gateways, and its Services. */
import { refOf } from "../../controller/base/identity.ts";
import { asList, fieldOf } from "../../controller/base/json.ts";
import type { GatewayObject } from "../../controller/kube/resources.ts";
import { GATEWAYS, HTTP_ROUTES, SERVICES } from "../../controller/kube/types.ts";
import { readParentRef } from "../../controller/translate/gateway/objects/parent_ref.ts";
import type { ObjectRef } from "../../shared/problem.ts";
import { backendsOfRoutes } from "./route_backends.ts";

export interface RouteParents {
  readonly object: ObjectRef;
  /** `namespace/name`. */
  readonly gateways: readonly string[];
  readonly services: readonly ObjectRef[];
}

export function parentGatewaysOf(route: GatewayObject): RouteParents {
  const object = refOf(HTTP_ROUTES.kind, route);
  const parents = asList(fieldOf(route.spec, "parentRefs")) ?? [];
  return {
    object,
    gateways: parents.flatMap((parent, i) => {
      const read = readParentRef(parent, object.namespace, i);
      return read?.kind !== GATEWAYS.kind ? [] : `${read.namespace}/${read.name}`;
    }),
    services: backendsOfRoutes({ httpRoutes: [route] })
      .map(({ namespace, name }) => ({ kind: SERVICES.kind, namespace, name })),
  };
}
