/**
 * Ingresses with annotations of ingress-nginx, for tests. In: annotations and paths by name. Out: the
 * snapshot that the controller makes of them, with Services in each namespace.
 */
import { BY_NAME, needsProfile } from "../../controller/translate/annotations/nginx/table.ts";
import { translate, type TranslateOptions } from "../../controller/translate/translator.ts";
import type { KubeSecret } from "../../controller/kube/resources.ts";
import type { Snapshot } from "../../shared/snapshot/types.ts";

export interface AnnotatedIngress {
  /** By names without the prefix. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Missing: `default`. */
  readonly namespace?: string;
  /** Namespaces that may serve its host, too. */
  readonly sharesWith?: string;
  /** Missing: any host. */
  readonly host?: string;
  /** Hosts of a TLS entry whose Secret is missing. Missing: no such entry. */
  readonly tlsHosts?: readonly string[];
  /** None: a rule without `http`. */
  readonly paths: readonly (readonly [path: string, pathType: string])[];
  /** Whether its Service also is the default backend of its host. */
  readonly hasDefaultBackend?: true;
  /** The Service behind its paths. Missing: `web`. */
  readonly service?: string;
  /**
   * Whether it is of a class without the profile nginx, whatever the others have. There, supported annotations
   * that protect are accepted
   * by default.
   */
  readonly isOutside?: true;
}

const OPTIONS: TranslateOptions = {
  ingressClasses: ["pingress", "outside"],
  controllerNames: [],
  watchIngressWithoutClass: false,
  defaultBackend: null,
  allowExternalName: false,
  defaultCertificate: null,
  acceptUnsupported: [],
  allowAcceptUnsupportedAnnotation: false,
  allowLocalEndpoints: true,
  hostOwnership: "namespace",
  version: { epoch: "test", seen: {} },
};

/** What closes paths only for want of the profile. */
const PROTECTING: readonly string[] = [...BY_NAME]
  .filter(([, { row }]) => needsProfile(row))
  .map(([name]) => name);

const CONFIG_MAP = { namespace: "ingress-nginx", name: "ingress-nginx-controller" };

/** When the first Ingress of a test was created; each further one, a second later. */
const CREATED = Date.UTC(2026, 0, 1);

/**
 * @param ingresses The oldest first.
 * @param ports Of the endpoints, on the loopback address.
 * @param profile Of all, unless `isOutside` says otherwise.
 * @param others Services beside `web` in each namespace, each with the ports of its endpoints.
 * @param data Of ingress-nginx's ConfigMap; null for none.
 * @param acceptUnsupported As the controller's flag.
 */
export function annotatedSnapshot(
  ingresses: Readonly<Record<string, AnnotatedIngress>>,
  ports: readonly number[],
  profile: "pingress" | "nginx" = "pingress",
  secrets: readonly KubeSecret[] = [],
  others: Readonly<Record<string, number | readonly number[]>> = {},
  data: Readonly<Record<string, string>> | null = null,
  acceptUnsupported = PROTECTING,
): Snapshot {
  const namespaces = [
    ...new Set([
      "default",
      ...Object.values(ingresses).map(({ namespace = "default" }) => namespace),
    ]),
  ];
  const services = namespaces.flatMap((namespace) =>
    ["web", ...Object.keys(others)].map((name) => ({
      metadata: { namespace, name },
      spec: { ports: [{ port: 80 }] },
    }))
  );
  const slices = namespaces.flatMap((namespace) =>
    [
      ...ports.map((port) => ["web", port] as const),
      ...Object.entries(others).flatMap(([name, ports]) =>
        [ports].flat().map((port) => [name, port] as const)
      ),
    ].map(([name, port]) => ({ namespace, name, port }))
  ).map(({ namespace, name, port }) => ({
    metadata: {
      namespace,
      name: `${name}-${port}`,
      labels: { "kubernetes.io/service-name": name },
    },
    addressType: "IPv4",
    ports: [{ port }],
    endpoints: [{ addresses: ["127.0.0.1"] }],
  }));
  const objects = Object.entries(ingresses).map(([name, ingress], i) => {
    const { annotations, host, tlsHosts, paths, isOutside, sharesWith } = ingress;
    const { namespace = "default", service = "web", hasDefaultBackend } = ingress;
    const backend = { service: { name: service, port: { number: 80 } } };
    return {
      metadata: {
        namespace,
        name,
        creationTimestamp: new Date(CREATED + i * 1000).toISOString(),
        annotations: {
          ...Object.fromEntries(
            Object.entries(annotations)
              .map(([key, text]) => [`nginx.ingress.kubernetes.io/${key}`, text]),
          ),
          ...(sharesWith === undefined ? {} : { "pingress.io/share-host-with": sharesWith }),
        },
      },
      spec: {
        ingressClassName: isOutside ? "outside" : "pingress",
        ...(tlsHosts === undefined ? {} : { tls: [{ hosts: tlsHosts, secretName: "missing" }] }),
        ...(hasDefaultBackend ? { defaultBackend: backend } : {}),
        rules: [{
          ...(host === undefined ? {} : { host }),
          ...(paths.length === 0
            ? {}
            : { http: { paths: paths.map(([path, pathType]) => ({ path, pathType, backend })) } }),
        }],
      },
    };
  });
  const cluster = {
    ingresses: objects,
    ingressClasses: [],
    services,
    endpointSlices: slices,
    secrets,
    namespaces: [],
    configMaps: data === null ? null : [{ metadata: CONFIG_MAP, data }],
  };
  const nginxClasses = profile === "nginx" ? ["pingress"] : [];
  const configMap = data === null ? null : CONFIG_MAP;
  const options = { ...OPTIONS, nginxClasses, configMap, acceptUnsupported };
  return translate(cluster, null, options, () => 0).snapshot;
}
