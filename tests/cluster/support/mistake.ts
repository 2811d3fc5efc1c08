/**
 * What a mistake of a user is made of. In: a scene whose controller runs, and what is wrong. Out:
 * objects of the mistake's own, what is to be said of it, and how it is mended.
 */
import type { KubeObject } from "./api_client.ts";
import type { ControllerScene } from "./controller_scene.ts";

export interface Mistake {
  /** Of its Ingress, whose host is `NAME.example.com` unless a mistake is about that. */
  readonly name: string;
  /** What is told, each on the object of that kind and of `name`. */
  readonly told: readonly Told[];
  /** What requests to `NAME.example.com/` get meanwhile. */
  readonly gets: "backend" | 404 | 500 | 503 | "nothing of it";
  readonly make: (scene: ControllerScene, name: string) => Promise<void>;
  /** Without it, the Ingress is written as `ControllerScene.ingress` does. */
  readonly mend?: (scene: ControllerScene, name: string) => Promise<void>;
  /** Whether the host has its certificate afterwards. */
  readonly certificate?: true;
}

export interface Told {
  readonly kind: "EndpointSlice" | "Ingress" | "Secret" | "Service";
  readonly reason: string;
  readonly field: string;
  readonly severity: "error" | "warning";
  /** Of the message; what to do must be in it as well. */
  readonly says: RegExp;
}

const CERTIFICATES = new URL("../../golden/certificates/", import.meta.url);

/** One of the golden files. */
export function pem(name: string): string {
  return Deno.readTextFileSync(new URL(name, CERTIFICATES));
}

/** For any host below example.com. */
export const GOOD_PAIR = { "tls.crt": pem("wildcard.crt"), "tls.key": pem("wildcard.key") };

export const PATH = "spec.rules[0].http.paths[0]";
export const SERVICE_NAME = `${PATH}.backend.service.name`;
export const WEB = { service: { name: "web", port: { number: 80 } } };

export function error(
  kind: Told["kind"],
  reason: string,
  field: string,
  says: RegExp,
): Told {
  return { kind, reason, field, severity: "error", says };
}

export function warning(
  kind: Told["kind"],
  reason: string,
  field: string,
  says: RegExp,
): Told {
  return { kind, reason, field, severity: "warning", says };
}

/** An Ingress whose one path has this backend. */
export function toBackend(backend: unknown): Mistake["make"] {
  return (scene, name) =>
    scene.ingress(name, {
      rules: [{
        host: `${name}.example.com`,
        http: { paths: [{ path: "/", pathType: "Prefix", backend }] },
      }],
    });
}

/** An Ingress whose paths these are; the first of them is the one that is wrong. */
export function withPaths(...paths: readonly (readonly [path: string, pathType: string])[]) {
  return (scene: ControllerScene, name: string) =>
    scene.ingress(name, {
      rules: [{
        host: `${name}.example.com`,
        http: { paths: paths.map(([path, pathType]) => ({ path, pathType, backend: WEB })) },
      }],
    });
}

export function withAnnotations(annotations: Record<string, string>): Mistake["make"] {
  return (scene, name) => scene.ingress(name, {}, { annotations });
}

/** An Ingress with a TLS entry for a Secret of its name. */
export function tlsIngress(scene: ControllerScene, name: string): Promise<void> {
  return scene.ingress(name, {
    tls: [{ hosts: [`${name}.example.com`], secretName: name }],
  });
}

/** A Secret that is not as it should be, and an Ingress that names it. */
export function withSecret(
  data: Record<string, string>,
  type = "kubernetes.io/tls",
): Mistake["make"] {
  return async (scene, name) => {
    await scene.tlsSecret(name, data, type);
    await tlsIngress(scene, name);
  };
}

/** As `kubectl replace --force` does, since a type cannot be changed. */
export async function replaceSecret(scene: ControllerScene, name: string): Promise<void> {
  await scene.cluster.delete("v1", "Secret", name, scene.app);
  await scene.tlsSecret(name, GOOD_PAIR);
}

/** A Service that is spoken to by TLS, with these annotations, and an Ingress that names it. */
export function withSecuredService(annotations: Record<string, string>): Mistake["make"] {
  return async (scene, name) => {
    await scene.service(name);
    await scene.cluster.apply(
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, annotations },
        spec: { ports: [{ name: "http", port: 80, appProtocol: "https" }] },
      } as Partial<KubeObject>,
      { namespace: scene.app },
    );
    await toBackend({ service: { name, port: { number: 80 } } })(scene, name);
  };
}

/** A Service in plain text. */
export function mendService(scene: ControllerScene, name: string): Promise<void> {
  return scene.service(name);
}

/** One endpoint of the Service of that name, with an EndpointSlice of that name. */
export function endpointsAt(name: string, address: string): Partial<KubeObject> {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, labels: { "kubernetes.io/service-name": name } },
    addressType: address.includes(":") ? "IPv6" : "IPv4",
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  } as Partial<KubeObject>;
}
