/**
 * What sample backends speak. In: a Service's ports. Out: the version of HTTP for each, always in
 * plain text, and the Service as it is for ports that they stand behind.
 */
import type { Service, ServicePort } from "../../controller/kube/resources.ts";
import { UPSTREAM_TLS_PREFIX } from "../../controller/translate/annotations/own_annotation_names.ts";
import { readAppProtocol } from "../../controller/translate/backends/app_protocol.ts";
import { asList } from "../../controller/base/json.ts";

export type SampleVersion = "HTTP/1.1" | "HTTP/2";

/** Whether sample backends that stand in for a pod behind this port are to speak HTTP/2. */
export function wantsHttp2(port: ServicePort | null): boolean {
  const protocol = readAppProtocol(port?.appProtocol);
  return protocol === "h2c" || protocol === "h2";
}

/** Ports by what is to be spoken behind them. */
export function byVersion(ports: readonly ServicePort[]): Map<SampleVersion, ServicePort[]> {
  return Map.groupBy(ports, (port) => wantsHttp2(port) ? "HTTP/2" : "HTTP/1.1");
}

/** Sample backends speak in plain text, also for pods that speak TLS. */
export function withPlainPorts(service: Service, plain: ReadonlySet<ServicePort>): Service {
  if (plain.size === 0) return service;
  const ports = ((asList(service.spec?.ports) ?? []) as ServicePort[]).map((port): ServicePort => {
    if (!plain.has(port) || !isSecured(port)) return port;
    const { appProtocol: _, ...rest } = port;
    return wantsHttp2(port) ? { ...rest, appProtocol: "kubernetes.io/h2c" } : rest;
  });
  const spec = { ...service.spec, ports };
  if (ports.some(isSecured)) return { ...service, spec };
  // Said of pods by themselves, settings of TLS are no mistake.
  const annotations = Object.entries(service.metadata?.annotations ?? {})
    .filter(([name]) => !name.startsWith(UPSTREAM_TLS_PREFIX));
  const metadata = { ...service.metadata, annotations: Object.fromEntries(annotations) };
  return { ...service, metadata, spec };
}

/** Whether pods behind it speak TLS. */
export function isSecured(port: ServicePort | null): boolean {
  const protocol = readAppProtocol(port?.appProtocol);
  return protocol === "https" || protocol === "h2";
}
