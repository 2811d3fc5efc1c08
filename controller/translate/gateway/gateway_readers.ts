/**
 * Objects of Gateway API, read. In: objects of unknown shape. Out: a model of each, read once as long as the
 * object lives.
 */
import { asObject } from "../../base/json.ts";
import { ObjectCache } from "../../base/memo.ts";
import { RouteSettingsPool } from "../model/route_settings.ts";
import { type GatewayModel, readGateway } from "./objects/gateway.ts";
import { type GatewayClassModel, readGatewayClasses } from "./objects/gateway_class.ts";
import { RouteDemands } from "./route_bounds.ts";
import { type HttpRouteModel, readHttpRoute } from "./objects/http_route.ts";
import { RoutePlacements } from "./served_routes.ts";
import { HostGuards } from "./sharing/host_guards.ts";

export class GatewayReaders {
  /** Filters and policies by their content. */
  readonly settings = new RouteSettingsPool();
  /** Sizes of rules. */
  readonly demands = new RouteDemands();
  /** Routes by their HTTPRoute. */
  readonly placements = new RoutePlacements(this.settings);
  readonly guards = new HostGuards();
  readonly #gateways = new ObjectCache(readGateway);
  readonly #routes = new ObjectCache(readHttpRoute);

  classes(objects: readonly unknown[]): ReadonlyMap<string, GatewayClassModel> {
    return readGatewayClasses(objects);
  }

  gateway(value: unknown): GatewayModel | null {
    const object = asObject(value);
    return object === null ? null : this.#gateways.of(object);
  }

  route(value: unknown): HttpRouteModel | null {
    const object = asObject(value);
    return object === null ? null : this.#routes.of(object);
  }
}
