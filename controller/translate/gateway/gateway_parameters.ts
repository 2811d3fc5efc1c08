/**
 * Parameters of classes and Gateways, resolved. In: classes and Gateways as they are read, and their
 * ConfigMaps. Out: which classes are accepted, and for each Gateway whether it has an address of its own and
 * what its Service is like, or why its parameters cannot be used.
 *
 * Parameters say what an address is like, and nothing else. So a mistake in them, be it in the ConfigMap of a
 * class with hundreds of Gateways, takes no traffic away: a Gateway that proxies have goes on, with the Service
 * that it has, until the mistake is mended. A new one is not served.
 */
import { type Identity, keyOf } from "../../base/identity.ts";
import { asObject, fieldOf, isAbsent } from "../../base/json.ts";
import { isDnsName } from "../../base/names.ts";
import { describeExcess, excessOf } from "../../kube/excess.ts";
import type { Resources } from "../../kube/resources.ts";
import { CONFIG_MAPS } from "../../kube/types.ts";
import type { GatewayReaders } from "./gateway_readers.ts";
import { type Condition, falseCondition, trueCondition } from "./objects/condition.ts";
import type { GatewayModel } from "./objects/gateway.ts";
import type { GatewayClassModel } from "./objects/gateway_class.ts";
import {
  type AddressKind,
  addressKind,
  type AddressParameters,
  type ConfigMapLookup,
  type FoundConfigMap,
  type Reading,
  readParameters,
  type ServiceDefaults,
  type ServiceSettings,
  serviceSettings,
} from "./objects/parameters.ts";
import { readReference } from "./objects/reference.ts";

export { PARAMETER_KEYS } from "./objects/parameters.ts";

const CLASS_FIELD = "spec.parametersRef";
const GATEWAY_FIELD = "spec.infrastructure.parametersRef";

export interface GatewayClassStatus {
  readonly name: string;
  readonly generation: number;
  readonly conditions: readonly Condition[];
  /** Of its Gateways, where they say nothing. */
  readonly address: AddressKind;
}

/** A Gateway of a class of ours, with what parameters say of it. */
export interface ConfiguredGateway extends GatewayModel {
  /** Where its parameters cannot be used, as it is published. */
  readonly address: AddressKind;
  /**
   * Null where it shares its address; and where its parameters, or those of its class, cannot be used: then its
   * Service stays as it is.
   */
  readonly service: ServiceSettings | null;
  /** Whether its listeners are served, as far as it is for the whole Gateway to say. */
  readonly isServed: boolean;
  /** Of listeners for which there is no room any more, why: by name. */
  readonly crowdedOut: ReadonlyMap<string, Condition>;
}

const NONE: ReadonlyMap<string, Condition> = new Map();

export interface ParameterContext {
  readonly configMaps: ConfigMapLookup;
  /** Where ConfigMaps of classes are. */
  readonly namespace: string;
  readonly service: ServiceDefaults;
  /** Where no parameter says otherwise. */
  readonly address: AddressKind;
  /** By key, Gateways with listeners that are published. */
  readonly publishedGateways: ReadonlyMap<string, AddressKind>;
  /** By key, why Gateways keep the address that is published. */
  readonly refusedMoves: ReadonlyMap<string, Condition>;
}

interface AddressSettings {
  readonly address: AddressKind;
  readonly service: ServiceSettings | null;
}

export class GatewayParameters {
  readonly #context: ParameterContext;
  readonly #ofClasses: ReadonlyMap<string, Reading<AddressParameters>>;
  /** Sorted as the classes are. */
  readonly classes: readonly GatewayClassStatus[];

  /** @param classes By name. */
  constructor(classes: ReadonlyMap<string, GatewayClassModel>, context: ParameterContext) {
    const { namespace, configMaps } = context;
    this.#context = context;
    this.#ofClasses = new Map(
      classes.values().map(({ name, parametersRef }) => [
        name,
        readParameters(parametersRef, CLASS_FIELD, namespace, configMaps),
      ]),
    );
    this.classes = classes.values().map(({ name, generation }): GatewayClassStatus => {
      const reading = this.#ofClasses.get(name)!;
      const accepted = reading.ok ? trueCondition("Accepted") : reading.condition;
      const kind = reading.ok ? addressKind(reading.value, {}, context.address) : reading;
      const address = kind.ok ? kind.value : context.address;
      return { name, generation, conditions: [accepted], address };
    }).toArray();
  }

  /** Null for a Gateway whose class is not ours. */
  configure(gateway: GatewayModel): ConfiguredGateway | null {
    const { className, refusal, identity: { key } } = gateway;
    const ofClass = this.#ofClasses.get(className);
    if (ofClass === undefined) return null;
    const refusedMove = this.#context.refusedMoves.get(key);
    const settings = refusedMove === undefined
      ? this.#settingsOf(gateway, ofClass)
      : { ok: false as const, condition: refusedMove };
    const { publishedGateways, address: byDefault } = this.#context;
    const published = publishedGateways.get(key);
    return {
      ...gateway,
      ...(settings.ok ? settings.value : { address: published ?? byDefault, service: null }),
      refusal: refusal ?? (settings.ok ? null : settings.condition),
      isServed: refusal === null && (settings.ok || published !== undefined),
      crowdedOut: NONE,
    };
  }

  #settingsOf(
    { identity, className, infrastructure: { parametersRef } }: GatewayModel,
    ofClass: Reading<AddressParameters>,
  ): Reading<AddressSettings> {
    const { configMaps, service: defaults, address: byDefault } = this.#context;
    if (!ofClass.ok) {
      const { type, reason, message, absent } = ofClass.condition;
      return {
        ok: false,
        condition: {
          ...falseCondition(
            type,
            reason,
            `GatewayClass ${className} is not accepted: ${message}`,
            absent,
          ),
          ofClass: className,
        },
      };
    }
    const own = readParameters(
      parametersRef,
      GATEWAY_FIELD,
      identity.ref.namespace,
      configMaps,
    );
    if (!own.ok) return own;
    const address = addressKind(ofClass.value, own.value, byDefault);
    if (!address.ok) return address;
    if (address.value === "shared") {
      return { ok: true, value: { address: "shared", service: null } };
    }
    const service = serviceSettings(ofClass.value, own.value, defaults);
    return service.ok ? { ok: true, value: { address: "own", service: service.value } } : service;
  }
}

/** @param unread As `namespace/name`. */
export function configMapLookup(
  configMaps: readonly unknown[],
  unread: readonly string[],
): ConfigMapLookup {
  const byKey = new Map(configMaps.map((configMap) => {
    const metadata = fieldOf(configMap, "metadata");
    return [`${fieldOf(metadata, "namespace")}/${fieldOf(metadata, "name")}`, configMap];
  }));
  const isUnread = new Set(unread);
  return {
    find(namespace, name) {
      const key = keyOf({ namespace, name });
      const configMap = byKey.get(key);
      if (configMap === undefined) {
        return isUnread.has(key)
          ? unusable("cannot be read. Give the controller the rights of overlays/gateway")
          : { kind: "missing" };
      }
      const excess = excessOf(configMap);
      if (excess === null) {
        return { kind: "found", data: asObject(fieldOf(configMap, "data")) ?? {} };
      }
      if (excess.bound === "bytes") {
        return unusable(
          `has more than ${excess.limit} bytes. Remove what is no parameter, or raise ` +
            "--max-object-bytes of the controller",
        );
      }
      const [what, remedy] = describeExcess(excess);
      return unusable(`is not used, as ${what}. ${remedy}`);
    },
  };
}

function unusable(fault: string): FoundConfigMap {
  return { kind: "unusable", fault };
}

export type ParameterLists = Pick<Resources, "gatewayClasses" | "gateways">;

/** The ConfigMap that a Gateway names, as `namespace/name`. */
export interface ParameterUse {
  readonly gateway: Identity;
  readonly key: string;
}

export interface ParameterUses {
  readonly ofGateways: readonly ParameterUse[];
  /** As `namespace/name`. */
  readonly ofClasses: readonly string[];
}

/**
 * ConfigMaps that classes and Gateways of ours name, where they may name them.
 * @param namespace Where those of classes are.
 */
export function parameterUses(
  { gatewayClasses, gateways }: ParameterLists,
  namespace: string,
  readers: GatewayReaders,
): ParameterUses {
  const classes = readers.classes(gatewayClasses ?? []);
  const ofGateways = (gateways ?? []).flatMap((object): ParameterUse[] => {
    const gateway = readers.gateway(object);
    if (gateway === null || !classes.has(gateway.className)) return [];
    const { identity, infrastructure } = gateway;
    return keyOfConfigMap(infrastructure.parametersRef, identity.ref.namespace)
      .map((key) => ({ gateway: identity, key }));
  });
  const ofClasses = classes.values()
    .flatMap(({ parametersRef }) => keyOfConfigMap(parametersRef, namespace)).toArray();
  return { ofGateways, ofClasses };
}

/** The same without who names them; as `namespace/name`. */
export function parameterReferences(
  lists: ParameterLists,
  namespace: string,
  readers: GatewayReaders,
): ReadonlySet<string> {
  const { ofGateways, ofClasses } = parameterUses(lists, namespace, readers);
  return new Set([...ofClasses, ...ofGateways.map(({ key }) => key)]);
}

function keyOfConfigMap(ref: unknown, namespace: string): string[] {
  if (isAbsent(ref)) return [];
  const { group, kind } = CONFIG_MAPS;
  const reference = readReference(ref, { group, kind, namespace });
  return reference !== null && reference.group === group && reference.kind === kind &&
      reference.namespace === namespace && isDnsName(reference.name)
    ? [keyOf(reference)]
    : [];
}
