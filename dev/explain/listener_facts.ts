/**
 * The listener that takes a URL. In: the listener, the plan, and where fields stand. Out: the Gateway and
 * listener, why the others on its port do not take the URL, and its certificates.
 */
import { serviceName } from "../../controller/outputs/addresses/names.ts";
import { hostPatternTakes } from "../../proxy/router/host.ts";
import { gatewayOf, listenerNameOf } from "../../shared/snapshot/listener_id.ts";
import type { Listener, Origin, Snapshot } from "../../shared/snapshot/types.ts";
import type { GatewayChoice } from "../gateway/gateway_choice.ts";
import { urlOf } from "../gateway/gateway_report.ts";
import type { Plan } from "../plan.ts";
import { leafFacts } from "./certificate_facts.ts";
import type { CertificateFacts, ExplainedOrigin, ListenerFacts } from "./url_explanation.ts";

type ChosenListener = Extract<GatewayChoice, { readonly kind: "listener" }>;

/** @param isInDev Whether the plan is that of `dev`. @param locate A field with its place in the files. */
export function listenerFacts(
  { listener, isIngress }: ChosenListener,
  { snapshot: { listeners = [] }, gateway: translation }: Pick<Plan, "snapshot" | "gateway">,
  host: string,
  isInDev: boolean,
  locate: (origin: Origin) => ExplainedOrigin,
): ListenerFacts {
  const gateway = gatewayOf(listener.id);
  const status = translation?.gateways.find(({ identity }) => identity.key === gateway);
  const { namespace = "", name = "" } = status?.identity.ref ?? {};
  const sharing = listeners.filter(({ id, socket }) =>
    socket === listener.socket && id !== listener.id
  );
  return {
    gateway,
    name: listenerNameOf(listener.id),
    port: listener.port,
    hostname: listener.hostname ?? null,
    origin: locate(listener.origin),
    localUrl: isInDev ? urlOf(listener, "127.0.0.1") : null,
    service: status === undefined || status.service === null ? null : {
      namespace,
      name: serviceName({ name, className: status.className }),
      type: status.service.type,
    },
    others: sharing.map((other) => ({
      name: listenerNameOf(other.id),
      because: whyNot(other, listener, host),
    })),
    isTakenByIngresses: isIngress,
  };
}

function whyNot(other: Listener, listener: Listener, host: string): string {
  const { hostname = "*", wildcards } = other;
  return hostPatternTakes(hostname, host, wildcards)
    ? `it is for ${hostText(other)}, which is less specific than ${listener.hostname}`
    : `it is for ${hostText(other)}`;
}

/** `any host`, or `host *.example.com`. */
export function hostText({ hostname }: { readonly hostname?: string | null }): string {
  return hostname === undefined || hostname === null ? "any host" : `host ${hostname}`;
}

/** Nothing for a listener of plain HTTP. @param now Milliseconds since the epoch. */
export function listenerCertificates(
  { protocol, certificates: ids = [] }: Listener,
  { certificates }: Snapshot,
  isInDev: boolean,
  locate: (origin: Origin) => ExplainedOrigin,
  now: number,
): CertificateFacts[] {
  if (protocol !== "HTTPS") return [];
  const shown = certificates.filter(({ id }) => ids.includes(id));
  if (shown.length === 0) {
    return [{
      origin: null,
      because: "those of the listener cannot be used: handshakes fail",
      isKnown: true,
      leaf: null,
      inDev: isInDev ? "generates one" : null,
    }];
  }
  return shown.map((certificate) => ({
    origin: locate(certificate.origin),
    because: "the listener names it",
    isKnown: true,
    leaf: leafFacts(certificate, now),
    inDev: null,
  }));
}
