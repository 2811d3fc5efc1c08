/**
 * Objects of Gateway API, read. In: objects of unknown shape. Out: a model of each, read once as long as the
 * object lives.
 */
import { compareAge } from "../../base/identity.ts";
import { asObject } from "../../base/json.ts";
import { isSameList, LastResult, ObjectCache } from "../../base/memo.ts";
import { RouteSettingsPool } from "../model/route_settings.ts";
import { type GatewayModel, readGateway } from "./objects/gateway.ts";
import { type GatewayClassModel, readGatewayClasses } from "./objects/gateway_class.ts";
import { readReferenceGrant, ReferenceGrants } from "./objects/reference_grant.ts";
import { RouteDemands } from "./route_demands.ts";
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
  readonly #grants = new ObjectCache(readReferenceGrant);
  readonly #lastGrants = new LastResult<readonly unknown[], ReferenceGrants>();
  readonly #lastRoutes = new LastResult<readonly unknown[], readonly HttpRouteModel[]>();

  classes(objects: readonly unknown[]): ReadonlyMap<string, GatewayClassModel> {
    return readGatewayClasses(objects);
  }

  gateway(value: unknown): GatewayModel | null {
    const object = asObject(value);
    return object === null ? null : this.#gateways.of(object);
  }

  /** The oldest first; the very same list as before for the same objects, of which several stages ask. */
  routes(objects: readonly unknown[]): readonly HttpRouteModel[] {
    return this.#lastRoutes.recall((last) => last === objects) ?? this.#lastRoutes.keep(
      objects,
      objects.flatMap((object) => this.#route(object) ?? [])
        .sort((a, b) => compareAge(a.identity, b.identity)),
    );
  }

  /** The very same as before for the same objects: whoever changes another object does not pay for those of all. */
  grants(objects: readonly unknown[]): ReferenceGrants {
    return this.#lastGrants.recall((last) => isSameList(last, objects)) ?? this.#lastGrants.keep(
      objects,
      new ReferenceGrants(objects.flatMap((value) => {
        const object = asObject(value);
        return object === null ? [] : this.#grants.of(object);
      })),
    );
  }

  #route(value: unknown): HttpRouteModel | null {
    const object = asObject(value);
    return object === null ? null : this.#routes.of(object);
  }
}
