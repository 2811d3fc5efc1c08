/**
 * GatewayClasses. In: objects of unknown shape. Out: those that name this controller, each with its
 * conditions; Gateways of the accepted ones are served.
 */
import { asText, fieldOf, isAbsent } from "../../../base/json.ts";
import { type Condition, falseCondition, trueCondition } from "./condition.ts";
import { generationOf } from "./generation.ts";

/** `spec.controllerName` of our classes. */
export const GATEWAY_CONTROLLER = "pingress.io/gateway-controller";

export interface GatewayClassModel {
  readonly name: string;
  readonly generation: number;
  readonly isAccepted: boolean;
  readonly conditions: readonly Condition[];
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
    const hasParameters = !isAbsent(fieldOf(spec, "parametersRef"));
    classes.set(name, {
      name,
      generation: generationOf(object),
      isAccepted: !hasParameters,
      conditions: [
        hasParameters
          ? falseCondition(
            "Accepted",
            "InvalidParameters",
            "spec.parametersRef is not supported. Remove it.",
          )
          : trueCondition("Accepted"),
      ],
    });
  }
  return classes;
}
