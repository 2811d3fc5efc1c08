/**
 * GatewayClasses. In: objects of unknown shape. Out: those that name this controller. Gateways of the ones
 * whose parameters can be used are served; see `gateway_parameters.ts`.
 */
import { asText, fieldOf } from "../../../base/json.ts";
import { GATEWAY_CONTROLLER } from "../../../kube/types.ts";
import { generationOf } from "./generation.ts";

export { GATEWAY_CONTROLLER };

export interface GatewayClassModel {
  readonly name: string;
  readonly generation: number;
  /** Of unknown shape; undefined for none. */
  readonly parametersRef: unknown;
}

/** By name. */
export function readGatewayClasses(
  objects: readonly unknown[],
): ReadonlyMap<string, GatewayClassModel> {
  const classes = new Map<string, GatewayClassModel>();
  for (const object of objects) {
    const name = asText(fieldOf(fieldOf(object, "metadata"), "name"));
    const spec = fieldOf(object, "spec");
    if (name === null || fieldOf(spec, "controllerName") !== GATEWAY_CONTROLLER) continue;
    const generation = generationOf(object);
    classes.set(name, { name, generation, parametersRef: fieldOf(spec, "parametersRef") });
  }
  return classes;
}
