/**
 * Proxies of a scene's controllers, as far as the stream knows them. In: a scene. Out: service-account
 * tokens as a kubelet would mount them, the trust that is published, and streams.
 */
import { parseAddress } from "../../../shared/net/address.ts";
import { StreamClient, type StreamClientOptions } from "../../support/stream_client.ts";
import type { KubeObject } from "./api_client.ts";
import type { TestCluster } from "./cluster.ts";
import { eventually } from "./condition.ts";
import type { ControllerProcess } from "./controller_process.ts";
import type { ControllerScene } from "./controller_scene.ts";

export interface ProxyTokenOptions {
  /** Default: the proxies'. */
  readonly account?: string;
  readonly audience?: string;
  /** Name of a pod, which is made on this node. */
  readonly pod?: { readonly name: string; readonly node: string };
  /** Of that pod. */
  readonly labels?: Readonly<Record<string, string>>;
  /** In s; the API server grants no less than 600. */
  readonly expirationSeconds?: number;
}

/** A token, whose account and pod are made where they are missing. */
export async function proxyToken(
  cluster: TestCluster,
  namespace: string,
  options: ProxyTokenOptions = {},
): Promise<string> {
  const { account = "pingress-proxy-server", audience = "pingress-stream", pod } = options;
  // For its account; the token itself is for the API server.
  await cluster.serviceAccountToken(namespace, account);
  const bound = pod === undefined
    ? undefined
    : await podReference(cluster, namespace, account, pod, options.labels);
  const answer = await cluster.request(
    "POST",
    `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: {
        audiences: [audience],
        expirationSeconds: options.expirationSeconds ?? 3600,
        boundObjectRef: bound,
      },
    },
  );
  if (answer.status !== 201) throw new Error(`No token: ${answer.status} ${answer.text}`);
  return (answer.body.status as { token: string }).token;
}

async function podReference(
  cluster: TestCluster,
  namespace: string,
  serviceAccountName: string,
  { name, node: nodeName }: { readonly name: string; readonly node: string },
  labels: Readonly<Record<string, string>> = {},
) {
  await cluster.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: { serviceAccountName, nodeName, containers: [{ name: "proxy", image: "proxy" }] },
  } as Partial<KubeObject>, { namespace });
  const pod = await cluster.get("v1", "Pod", name, namespace);
  return { apiVersion: "v1", kind: "Pod", name, uid: pod!.metadata.uid };
}

/** What proxies trust, once the leader has published it. */
export async function streamTrust(cluster: TestCluster, namespace: string): Promise<string> {
  return await eventually("published authority", async () => {
    const bundle = await cluster.get<KubeObject & { data?: Record<string, string> }>(
      "v1",
      "ConfigMap",
      "pingress-stream-ca",
      namespace,
    );
    return bundle?.data?.["ca.crt"] || null;
  });
}

/** The port of a controller's stream, once it has a certificate. */
export async function streamPort(controller: ControllerProcess): Promise<number> {
  const { stream } = await controller.line("Listening");
  await controller.line("The stream has a new certificate");
  return parseAddress(String(stream))!.port;
}

/** Where a proxy connects to. */
export type StreamScene = Pick<ControllerScene, "cluster" | "system" | "controller">;

/** A stream of `controller`; its token, trust and name are right unless `options` say otherwise. */
export async function connectProxy(
  scene: StreamScene,
  options: Partial<StreamClientOptions> = {},
  controller = scene.controller,
): Promise<StreamClient> {
  const { cluster, system } = scene;
  const token = "token" in options ? options.token : await proxyToken(cluster, system);
  return new StreamClient({
    port: await streamPort(controller),
    caPem: await streamTrust(cluster, system),
    servername: `pingress-controller.${system}.svc`,
    ...options,
    token,
  });
}

/** As `/proxies` shows them. */
export interface ShownProxies {
  readonly programmed: boolean;
  readonly connected: number;
  readonly inSync: number;
  readonly hash: string;
  readonly proxies: readonly {
    readonly name: string;
    readonly node: string | null;
    readonly zone: string | null;
    readonly inSync: boolean;
    readonly build: string;
    readonly hash: string | null;
    readonly refused: { readonly code: string; readonly reason: string } | null;
  }[];
}

export async function shownProxies(controller: ControllerProcess): Promise<ShownProxies> {
  return JSON.parse((await controller.admin("/proxies")).text);
}
