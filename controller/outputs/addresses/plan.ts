/**
 * What is to be there for each Gateway. In: nothing. Out: the types by which the controller says so, and by
 * which it is told what came of it.
 */
import type { AddressKind, ServiceSettings } from "../../translate/gateway/objects/parameters.ts";
import type { RequestedAddress } from "../../translate/gateway/objects/infrastructure.ts";
import type { GatewayPort } from "../../translate/gateway/gateway_translation.ts";
import type { GatewayRef } from "./names.ts";

export interface GatewayAddressPlan {
  readonly gateway: GatewayRef;
  /**
   * Ports whose sockets all ready proxies have bound, no others: clients are led there at once. Null where
   * that is not known yet: then the ports stay as they are. Empty: no address leads to proxies any more, so
   * that no container port is reused while an address of another Gateway still leads there.
   */
  readonly ports: readonly GatewayPort[] | null;
  /** Of `spec.infrastructure`, for the Service and its slices. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** `spec.addresses`. */
  readonly addresses: readonly RequestedAddress[];
  /** One that shares the address of Ingresses has no objects: those that it had go. */
  readonly address: AddressKind;
  /** Null where the parameters cannot be used: then the Service stays as it is, and none is created. */
  readonly service: ServiceSettings | null;
}

/** As `status.addresses` has it. */
export interface GatewayAddress {
  readonly type: "IPAddress" | "Hostname";
  readonly value: string;
}

/** Why a Gateway is not programmed, as far as its addresses are concerned. */
export interface AddressFault {
  /** Of the condition `Programmed`. */
  readonly reason: "Pending" | "AddressNotAssigned" | "AddressNotUsable" | "Invalid";
  /** With the remedy, and where the API server has refused something, its own words. */
  readonly message: string;
}

export interface GatewayAddressState {
  /** Empty while one of those that the Gateway asks for cannot be had. */
  readonly addresses: readonly GatewayAddress[];
  /** Null where addresses, ports and endpoints are as planned. */
  readonly fault: AddressFault | null;
}
