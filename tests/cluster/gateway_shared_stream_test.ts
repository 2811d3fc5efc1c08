/**
 * Gateways on the address of Ingresses, all of it real: objects in an API server, controllers, the stream, and a
 * proxy with clients. Routes redirect to a host that has their name, so that an answer shows which route it is of;
 * the Service of Ingresses has no endpoints, so that theirs is 503.
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { get } from "../support/dev_process.ts";
import { authority, TlsClient } from "../support/tls_proxy.ts";
import type { ProxyProcess } from "../support/proxy_process.ts";
import type { KubeObject } from "./support/api_client.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { ControllerScene, rule } from "./support/controller_scene.ts";
import { FAST_ELECTION } from "./support/elections.ts";
import { installGatewayCrds } from "./support/gateway_crds.ts";
import { gatewayClass, gatewayOf } from "./support/gateway_objects.ts";
import { readyProxy, replicasKubeconfig } from "./support/gateway_proxies.ts";
import { type LiveStatus, shown, V1 } from "./support/gateway_status_scene.ts";
import { shownProxies, streamPort, streamTrust } from "./support/stream_scene.ts";
import { startStreamedProxy } from "./support/streamed_proxy.ts";
import type { LiveIngress } from "./support/writing_scene.ts";

type Live = KubeObject & { readonly status?: LiveStatus };

/** Milliseconds: a lease runs out, and the machine is busy. */
const PATIENCE = 60_000;

const NODE = "192.0.2.7";

/** A controller and a proxy that follows it, with namespaces of two teams: the scene's own one, and `foreign`. */
class SharedScene implements AsyncDisposable {
  private constructor(
    readonly scene: ControllerScene,
    readonly foreign: string,
    readonly proxy: ProxyProcess,
    readonly controller: ControllerProcess,
    readonly stack: AsyncDisposableStack,
  ) {}

  static async start(cluster: TestCluster): Promise<SharedScene> {
    await using stack = new AsyncDisposableStack();
    await installGatewayCrds(cluster);
    // Before the scene's own one in the order of names, which decides between objects of one second.
    const foreign = await cluster.newNamespace("a-foreign");
    const scene = stack.use(
      await ControllerScene.prepare(cluster, {
        args: [...FAST_ELECTION, "--stream-name=127.0.0.1", `--watch-namespace=${foreign}`],
        kubeconfig: await replicasKubeconfig(cluster),
      }),
    );
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: "node" } });
    await cluster.request(
      "PATCH",
      `${await cluster.pathOf("v1", "Node", "node")}/status`,
      { status: { addresses: [{ type: "InternalIP", address: NODE }] } },
      "application/merge-patch+json",
    );
    await scene.service("web", []);
    const controller = stack.use(await scene.startController());
    const token = await cluster.writeFile(await readyProxy(scene, "proxy-a", "10.0.0.1"));
    const ca = await cluster.writeFile(await streamTrust(cluster, scene.system));
    const proxy = stack.use(await startStreamedProxy(scene, { credentials: { ca, token } }));
    await cluster.apply(gatewayClass());
    return new SharedScene(scene, foreign, proxy, controller, stack.move());
  }

  async gateway(listeners: readonly object[], namespace = this.scene.app): Promise<void> {
    await this.scene.cluster.apply(gatewayOf(listeners), { namespace });
  }

  /** Attached to the Gateway of its namespace, for all requests unless a path is given. */
  async route(
    name: string,
    hostname: string,
    { namespace = this.scene.app, path = "/", listener = null as string | null } = {},
  ): Promise<void> {
    const requestRedirect = { hostname: `${name}.redirect.example`, statusCode: 302 };
    await this.scene.cluster.apply({
      apiVersion: V1,
      kind: "HTTPRoute",
      metadata: { name },
      spec: {
        parentRefs: [{ name: "web", ...(listener === null ? {} : { sectionName: listener }) }],
        hostnames: [hostname],
        rules: [{
          matches: [{ path: { type: "PathPrefix", value: path } }],
          filters: [{ type: "RequestRedirect", requestRedirect }],
        }],
      },
    } as Partial<KubeObject>, { namespace });
  }

  /** The name of the route that answers, or a status. */
  async answer(host: string, path = "/"): Promise<string> {
    const { status, headers: { location } } = await get(this.proxy.httpPort, host, path);
    return /^\w+:\/\/([^./]+)\.redirect\./.exec(String(location))?.[1] ?? String(status);
  }

  /** Waits until requests for each URL are answered by a route of this name, or with this status. */
  async answers(wanted: Readonly<Record<string, string>>): Promise<void> {
    let last: Record<string, string> = {};
    try {
      await eventually("answers", async () => {
        last = {};
        for (const url of Object.keys(wanted)) {
          const [host, path = ""] = url.split("/");
          last[url] = await this.answer(host, `/${path}`);
        }
        return JSON.stringify(last) === JSON.stringify(wanted);
      }, PATIENCE);
    } catch {
      deepEqual(last, wanted);
    }
  }

  /** Waits until `Accepted` of a route is this. */
  async accepts(name: string, accepted: string, message: string, namespace = this.scene.app) {
    await eventually(`${name}: ${accepted} ${message}`, async () => {
      const live = await this.scene.cluster.get<Live>(V1, "HTTPRoute", name, namespace);
      const conditions = live?.status?.parents?.[0]?.conditions;
      return shown(conditions, "Accepted")?.startsWith(accepted) === true &&
        conditions?.find(({ type }) => type === "Accepted")?.message.startsWith(message) === true;
    }, PATIENCE);
  }

  /** Ends the controller, and starts another one where its stream was. */
  async replaceController(): Promise<ControllerProcess> {
    const { kubeconfig, flags } = this.scene;
    const port = await streamPort(this.controller);
    await this.controller.stop();
    return this.stack.use(
      await ControllerProcess.start({
        kubeconfig,
        args: [...flags, `--stream=127.0.0.1:${port}`],
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack[Symbol.asyncDispose]();
  }
}

const HTTP = { name: "http", port: 80, protocol: "HTTP" };

clusterTest(
  "Gateways and Ingresses of several namespaces are served on one address, each host by its owner",
  async (cluster) => {
    await using shared = await SharedScene.start(cluster);
    const { scene, foreign, proxy } = shared;
    const { app } = scene;

    // An Ingress, then a Gateway of the same namespace and one of another.
    await scene.ingress("shop", { rules: [rule("shop.example.com", "/", "web")] });
    await shared.answers({ "shop.example.com": "503" });
    const { chain, key } = await authority.issue({ names: ["tls.example.com"] });
    await scene.tlsSecret("tls", { "tls.crt": chain, "tls.key": key.reveal() });
    await shared.gateway([
      HTTP,
      {
        ...{ name: "https", port: 443, protocol: "HTTPS", hostname: "tls.example.com" },
        tls: { certificateRefs: [{ name: "tls" }] },
      },
    ]);
    await shared.gateway([{ ...HTTP, hostname: "*.example.com" }], foreign);
    await shared.route("own", "own.example.com", { path: "/only", listener: "http" });
    await shared.route("tls", "tls.example.com");
    await shared.answers({ "own.example.com/only": "own", "tls.example.com": "tls" });
    const programmed = async (namespace: string) => {
      const live = await cluster.get<Live>(V1, "Gateway", "web", namespace);
      return [shown(live?.status?.conditions, "Programmed"), live?.status?.addresses];
    };
    const wanted = JSON.stringify(["True/Programmed@1", [{ type: "IPAddress", value: NODE }]]);
    for (const namespace of [app, foreign]) {
      await eventually(
        "a programmed Gateway",
        async () => JSON.stringify(await programmed(namespace)) === wanted,
        PATIENCE,
      );
    }
    // One without endpoints gets no address.
    await scene.service("up");
    await scene.ingress("up", { rules: [rule("up.example.com", "/", "up")] });
    await eventually("the same address of an Ingress", async () => {
      const live = await cluster.get<LiveIngress>("networking.k8s.io/v1", "Ingress", "up", app);
      return live?.status?.loadBalancer?.ingress?.[0]?.ip === NODE;
    });
    using client = await TlsClient.connect(proxy.httpsPort, { name: "tls.example.com" });
    equal(client.names, "tls.example.com");
    ok(
      (await client.ask("GET / HTTP/1.1\r\nhost: tls.example.com"))
        .includes("//tls.redirect.example/"),
    );

    // Another namespace gets neither the host of an Ingress nor what a route of a host does not take.
    await shared.route("foreign", "shop.example.com", { namespace: foreign });
    await shared.route("wide", "*.example.com", { namespace: foreign });
    await shared.answers({
      "other.example.com": "wide",
      "a.b.example.com": "wide",
      "shop.example.com": "503",
      "own.example.com/only": "own",
      "own.example.com": "404",
      "tls.example.com/x": "tls",
      "elsewhere.test": "404",
    });
    const owned = `spec.hostnames: host shop.example.com belongs to namespace ${app}`;
    await shared.accepts("foreign", "False/HostnameNotOwned", owned, foreign);
    await shared.accepts("wide", "True/Accepted", "", foreign);
    // Younger than the route of the other namespace: what was recorded decides, also after a restart.
    await shared.route("waiting", "shop.example.com");
    const served = `host shop.example.com is served by Ingress ${app}/shop until it is deleted.`;
    await shared.accepts("waiting", "True/Accepted", served);
    // The replies for all Gateways that share a port come by the stream as well as by files.
    const { routes } = await scene.whole();
    ok(
      routes.some(({ host, listeners }) =>
        host === "own.example.com" && listeners?.includes("@https") === true
      ),
    );
    await eventually("a proxy in sync", async () => {
      const { proxies, inSync } = await shownProxies(shared.controller);
      return inSync === 1 && proxies.every(({ refused }) => refused === null);
    });

    // The Ingress goes.
    await scene.remove("Ingress", "shop");
    await shared.answers({ "shop.example.com": "waiting", "other.example.com": "wide" });
    await shared.accepts("foreign", "False/HostnameNotOwned", owned, foreign);

    // Another controller knows whose the hosts are.
    const next = await shared.replaceController();
    await shared.route("late", "late.example.com");
    await shared.answers({
      "late.example.com": "late",
      "shop.example.com": "waiting",
      "own.example.com/only": "own",
      "own.example.com": "404",
      "other.example.com": "wide",
    });
    await eventually("a proxy in sync", async () => (await shownProxies(next)).inSync === 1);

    // A Gateway goes: its hosts are served no more, nor by anybody else; others go on.
    await scene.ingress("other", { rules: [rule("ingress.example.com", "/", "web")] });
    await shared.answers({ "ingress.example.com": "503" });
    await scene.remove("Gateway", "web", V1);
    await shared.answers({
      "own.example.com/only": "404",
      "shop.example.com": "404",
      "late.example.com": "404",
      "tls.example.com": "404",
      "other.example.com": "wide",
      "ingress.example.com": "503",
    });
    // And come back with it.
    await shared.gateway([HTTP]);
    await shared.answers({ "own.example.com/only": "own", "shop.example.com": "waiting" });
  },
);
