/**
 * Upstreams that an Ingress wants spoken to in another way than their Services say (`backend-protocol`).
 * In: a snapshot, and what stands behind its Services. Out: the snapshot with sample backends spoken to
 * as they speak: in plain text, in the version of HTTP that is wanted; and the Services that it takes.
 */
import { asList, asText, fieldOf } from "../controller/base/json.ts";
import type { Resources } from "../controller/kube/resources.ts";
import { NginxAnnotations } from "../controller/translate/annotations/nginx/nginx_annotations.ts";
import { BACKENDS } from "../controller/translate/annotations/nginx/rows/backends.ts";
import type { Snapshot, Upstream } from "../shared/snapshot/types.ts";
import type { LocalEndpoints, SampleEndpoints } from "./local_endpoints.ts";

/** Programs of users speak what their Ingresses say. */
export function withSampleProtocols(
  snapshot: Snapshot,
  standIns: LocalEndpoints["standIns"],
  samples: SampleEndpoints,
): Snapshot {
  const upstreams = snapshot.upstreams.map((upstream): Upstream => {
    const { tls: _, ...others } = upstream;
    const { id, protocol, addresses } = others;
    const plus = id.indexOf("+");
    if (plus === -1 || addresses.kind !== "endpoints") return upstream;
    const port = id.slice(0, plus);
    const kind = standIns.get(port)?.kind;
    if (kind !== "sample" && kind !== "slices") return upstream;
    const isHttp2 = protocol === "h2c" || protocol === "h2";
    const [namespace, name] = port.slice(0, port.lastIndexOf(":")).split("/");
    const endpoints = samples(namespace, name, isHttp2 ? "HTTP/2" : "HTTP/1.1")
      .slice(0, addresses.endpoints.length);
    return {
      ...others,
      protocol: isHttp2 ? "h2c" : "http",
      addresses: { kind: "endpoints", endpoints },
    };
  });
  return { ...snapshot, upstreams };
}

/** `<namespace>/<service>` of the backends of Ingresses that want HTTP/2. */
export function servicesWantedInHttp2({ ingresses }: Resources): string[] {
  return ingresses.flatMap(({ metadata, spec }) => {
    const annotations = new NginxAnnotations(metadata?.annotations, spec);
    const protocol = annotations.valueOf(BACKENDS, "backend-protocol");
    if (protocol !== "GRPC" && protocol !== "GRPCS") return [];
    const paths = (asList(fieldOf(spec, "rules")) ?? [])
      .flatMap((rule) => asList(fieldOf(fieldOf(rule, "http"), "paths")) ?? []);
    const backends = [fieldOf(spec, "defaultBackend"), ...paths.map((p) => fieldOf(p, "backend"))];
    return backends.flatMap((backend) => {
      const name = asText(fieldOf(fieldOf(backend, "service"), "name"));
      return name === null ? [] : `${metadata?.namespace ?? "default"}/${name}`;
    });
  });
}
