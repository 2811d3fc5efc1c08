/**
 * What explain says of the listener that takes a URL. In: the listener, the plan, and where fields stand. Out:
 * lines: the Gateway and listener, why the others on its port do not take the URL, its certificates, and
 * which other Gateways take it.
 */
import { serviceName } from "../../controller/outputs/addresses/names.ts";
import type { GatewayStatus } from "../../controller/translate/gateway/gateway_status.ts";
import { hostPatternTakes } from "../../proxy/router/host.ts";
import { formatObject, type ObjectRef } from "../../shared/problem.ts";
import { gatewayOf, listenerNameOf } from "../../shared/snapshot/listener_id.ts";
import type { Listener, Origin, Snapshot } from "../../shared/snapshot/types.ts";
import { certificateFacts } from "../certificate_facts.ts";
import type { GatewayChoice } from "./gateway_choice.ts";
import type { Plan } from "../plan.ts";
import { urlOf } from "./gateway_report.ts";

type ChosenListener = Extract<GatewayChoice, { readonly kind: "listener" }>;

/** @param describe An object and a field of it, with their place in the files. */
export function listenerLines(
  { listener, others, isIngress }: ChosenListener,
  { snapshot: { listeners = [] }, gateway: translation }: Pick<Plan, "snapshot" | "gateway">,
  host: string,
  describe: (origin: Origin) => string,
): string[] {
  const gateway = gatewayOf(listener.id);
  const status = translation?.gateways.find(({ identity }) => identity.key === gateway);
  const sharing = listeners.filter(({ id, socket }) =>
    socket === listener.socket && id !== listener.id
  );
  return [
    `Gateway: ${gateway}, listener ${listenerNameOf(listener.id)} (port ${listener.port}, ${
      hostText(listener)
    })`,
    `  deno task dev: ${urlOf(listener, "127.0.0.1")}, or the next port if a program has that one`,
    `  from ${describe(listener.origin)}`,
    ...(status === undefined ? [] : addressLines(status)),
    ...sharing.map((other) =>
      `  not listener ${listenerNameOf(other.id)}: ${whyNot(other, listener, host)}`
    ),
    ...others.map((other) =>
      `  Gateway ${other} takes this URL, too, at its own address: add --gateway ${other}`
    ),
    ...(isIngress
      ? [
        "  Ingresses take it, too, at their own address: write that URL with a port no Gateway has",
      ]
      : []),
  ];
}

/** The address that a cluster gives to a Gateway. */
function addressLines(
  { identity: { ref }, className, service }: GatewayStatus,
): string[] {
  if (service === null) return [];
  const name = serviceName({ name: ref.name, className });
  return [
    `  in a cluster: Service ${ref.namespace}/${name} of type ${service.type}${
      service.type !== "LoadBalancer"
        ? ""
        : ": a cloud creates, and charges for, a load balancer for each Gateway"
    }`,
  ];
}

function whyNot(other: Listener, listener: Listener, host: string): string {
  const { hostname = "*", wildcards } = other;
  return hostPatternTakes(hostname, host, wildcards)
    ? `it is for ${hostText(other)}, which is less specific than ${listener.hostname}`
    : `it is for ${hostText(other)}`;
}

function hostText({ hostname }: Listener): string {
  return hostname === undefined ? "any host" : `host ${hostname}`;
}

/** Nothing for a listener of plain HTTP. @param now Milliseconds since the epoch. */
export function listenerCertificateLines(
  { protocol, certificates: ids = [] }: Listener,
  { certificates }: Snapshot,
  describe: (origin: Origin) => string,
  now: number,
): string[] {
  if (protocol !== "HTTPS") return [];
  const shown = certificates.filter(({ id }) => ids.includes(id));
  if (shown.length === 0) {
    return [
      "Certificate: none, since those of the listener cannot be used: handshakes fail",
      "  deno task dev generates one",
    ];
  }
  return shown.flatMap((certificate) => [
    `Certificate: ${formatObject(certificate.origin as ObjectRef)}, since the listener names it`,
    `  from ${describe(certificate.origin)}`,
    ...certificateFacts(certificate, now),
  ]);
}
