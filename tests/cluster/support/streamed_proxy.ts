/**
 * A real proxy on the stream of a scene's controller. In: a scene, and what it is to have of files.
 * Out: the process, and what it answers.
 */
import type { Snapshot } from "../../../shared/snapshot/types.ts";
import { ProxyProcess, type ProxyProcessOptions } from "../../support/proxy_process.ts";
import type { ControllerProcess } from "./controller_process.ts";
import type { ControllerScene } from "./controller_scene.ts";
import { proxyToken, streamPort, streamTrust } from "./stream_scene.ts";

/** In no cluster's epoch and without a route: what a stream brings takes its place. */
export const NOTHING: Snapshot = {
  format: 2,
  version: { epoch: "file", seen: {} },
  routes: [],
  defaultAction: null,
  upstreams: [],
  certificates: [],
  defaultCertificate: null,
};

export interface StreamedProxyOptions extends Partial<ProxyProcessOptions> {
  /** Default: the scene's. */
  readonly controller?: ControllerProcess;
  /** Where its stream is to be had; default: there itself. */
  readonly port?: number;
  /** Files; default: those of this moment. */
  readonly credentials?: ProxyCredentials;
}

/** Paths. */
export interface ProxyCredentials {
  readonly ca: string;
  readonly token: string;
}

/** As a kubelet would mount them, but for the name in the certificate: see `--stream-name`. */
export async function proxyCredentials(
  { cluster, system }: Pick<ControllerScene, "cluster" | "system">,
): Promise<ProxyCredentials> {
  const token = await cluster.writeFile(await proxyToken(cluster, system));
  return { token, ca: await cluster.writeFile(await streamTrust(cluster, system)) };
}

/** The scene's controller must know `--stream-name=127.0.0.1`. */
export async function startStreamedProxy(
  scene: Pick<ControllerScene, "cluster" | "system" | "controller">,
  { args = [], snapshot = NOTHING, ...options }: StreamedProxyOptions = {},
): Promise<ProxyProcess> {
  const { ca, token } = options.credentials ?? await proxyCredentials(scene);
  const port = options.port ?? await streamPort(options.controller ?? scene.controller);
  return await ProxyProcess.start({
    ...options,
    snapshot,
    args: [
      `--controller=https://127.0.0.1:${port}`,
      `--controller-ca=${ca}`,
      `--controller-token=${token}`,
      ...args,
    ],
  });
}

/** 404 for a host that has no route, 503 for one whose Service has no endpoint. */
export async function answerOf(
  proxy: ProxyProcess,
  host: string,
  path = "/",
): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: proxy.httpPort });
  await connection.write(
    new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`),
  );
  const text = await new Response(connection.readable).text();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]);
}
