/**
 * Services that are named and that no file has. In: the objects of a folder, and Services that others than
 * Ingresses name. Out: a Service for each, with the ports that are named, so that the translation judges
 * what names them alone: without the Service, ingress-nginx answers 503 as well.
 */
import { asList, asText, fieldOf } from "../../controller/base/json.ts";
import type { Resources, Service } from "../../controller/kube/resources.ts";

export interface AssumedServices {
  readonly services: readonly Service[];
  /** `default/web`, sorted. */
  readonly names: readonly string[];
}

/** @param others That authenticate requests, or are backends of HTTPRoutes. */
export function assumedServices(
  resources: Pick<Resources, "ingresses" | "services">,
  others: readonly { namespace: string; name: string; port: number }[] = [],
): AssumedServices {
  const there = new Set(
    resources.services.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`),
  );
  const ports = new Map<string, Map<string, { name?: string; port: number }>>();
  for (const ingress of resources.ingresses) {
    for (const backend of backendsOf(ingress)) {
      const service = fieldOf(backend, "service");
      const name = asText(fieldOf(service, "name"));
      if (name === null) continue;
      const key = `${ingress.metadata?.namespace}/${name}`;
      if (there.has(key)) continue;
      const own = ports.get(key) ?? new Map();
      ports.set(key, own);
      const port = fieldOf(service, "port");
      const number = fieldOf(port, "number");
      const named = asText(fieldOf(port, "name"));
      if (typeof number === "number") own.set(`${number}`, { name: `p${number}`, port: number });
      // Which number it has decides nothing.
      else if (named !== null) own.set(named, { name: named, port: 60_000 + own.size });
    }
  }
  for (const { namespace, name, port } of others) {
    const key = `${namespace}/${name}`;
    if (there.has(key)) continue;
    const own = ports.get(key) ?? new Map();
    ports.set(key, own.set(`${port}`, { name: `p${port}`, port }));
  }
  const services = [...ports].filter(([, own]) => own.size > 0).map(([key, own]): Service => {
    const [namespace, name] = key.split("/");
    return {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace, name },
      spec: { ports: [...own.values()] },
    } as Service;
  });
  return { services, names: [...ports.keys()].sort() };
}

function backendsOf(ingress: unknown): unknown[] {
  const spec = fieldOf(ingress, "spec");
  return [
    fieldOf(spec, "defaultBackend"),
    ...(asList(fieldOf(spec, "rules")) ?? []).flatMap((rule) =>
      (asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []).map((path) =>
        fieldOf(path, "backend")
      )
    ),
  ];
}
