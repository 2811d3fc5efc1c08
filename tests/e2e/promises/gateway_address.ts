/**
 * The address of a Gateway while proxies go, with and without a controller. In: a scene with proxies of a
 * Deployment. Out: what failed with a controller: nothing; and, where none is there to take a proxy out of
 * the Gateway's EndpointSlices, which share failed. That share is a fact for users, and breaks no promise.
 */
import { join } from "node:path";
import type { EndpointSlice } from "../../../controller/kube/resources.ts";
import { GATEWAY_API } from "../../../controller/kube/types.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { gatewayCrd } from "../../cluster/support/gateway_crds.ts";
import { CLASS_NAME, gatewayOf } from "../../cluster/support/gateway_objects.ts";
import { MANIFESTS } from "../../cluster/support/kubectl.ts";
import { NAMESPACE, PROXY } from "../cluster/installation.ts";
import type { LoadReport } from "../load/load.ts";
import type { LoadPlan } from "../load/plan.ts";
import { removeControllers, scaleControllers } from "./absent_controllers.ts";
import { ask } from "./client.ts";
import { Finding, inWords } from "./finding.ts";
import { type Form, linesOf, noteLoad, type Scene } from "./scene.ts";

const HOST = "gateway.test";
const KINDS = ["GatewayClass", "Gateway", "HTTPRoute", "ReferenceGrant", "BackendTLSPolicy"];
const V1 = `${GATEWAY_API}/v1`;

/** Each of two streams, a second. */
const RATE = 50;
/** Where an address has no proxy, in ms: a request that waits for longer than that has failed. */
const SHORT_TIMEOUT = 2_000;
/** How long each state is looked at where nothing is to change, in ms. */
const LOOK = 5_000;
const PATIENCE = 120_000;
/** One after the other; by chance they all succeed once in a million times. */
const CONNECTIONS = 20;

export async function gatewayAddress(scene: Scene, form: Form): Promise<Finding> {
  const away = form === "long" ? 300_000 : 10_000;
  const finding = new Finding("address of a Gateway");
  await installGatewayApi(scene);
  await scene.within("gateway", async (namespace) => {
    const { cluster } = scene;
    await scene.application({ namespace, replicas: 2, host: `ingress.${HOST}` });
    await cluster.apply([gatewayOf(), route()], { namespace });
    const entry = await addressOf(scene, namespace);

    await under(scene, entry, async (load) => {
      await deleteProxy(scene);
      await load.lasts(LOOK);
    }, (report, failures) => {
      noteLoad(finding, report);
      finding.count("failed while a proxy was replaced", failures.length, 0, failures);
    });

    const replicas = await removeControllers(scene);
    await under(scene, entry, (load) => load.lasts(LOOK), (_, failures) => {
      finding.count("failed without a controller", failures.length, 0, failures);
    });
    await deleteProxy(scene);
    const hasty = { ...entry, timeout: SHORT_TIMEOUT };
    await under(scene, hasty, (load) => load.lasts(away), (report) => {
      finding.note("without a controller after a proxy was replaced", inWords(away));
      for (const { name, answered, failed } of report.streams) {
        const share = 100 * failed / Math.max(1, answered + failed);
        finding.note(`failed on ${name} connections`, `${share.toFixed(0)} %`);
      }
    });

    await scaleControllers(scene, replicas);
    await scene.pingress.waitForControllers();
    await eventually(
      "EndpointSlices of the proxies that are there",
      () => isTrue(scene, namespace),
    );
    // kube-proxy follows the slices a moment later.
    await eventually("no connection to a proxy that has gone", () => isSteady(entry), PATIENCE);
    await under(scene, entry, (load) => load.lasts(LOOK), (_, failures) => {
      finding.count("failed once a controller was back", failures.length, 0, failures);
    });
  });
  return finding;
}

/** CRDs, rights and class. */
async function installGatewayApi({ cluster, pingress }: Scene): Promise<void> {
  await cluster.apply(KINDS.map((kind) => gatewayCrd(kind, ["v1"])));
  const overlay = join(MANIFESTS, "..", "overlays", "gateway");
  await eventually("Gateway API in the cluster", async () => {
    const { status } = await cluster.request("GET", `/apis/${V1}/gatewayclasses`);
    return status === 200;
  }, PATIENCE);
  await cluster.kubectl(["apply", "--server-side", "--kustomize", overlay]);
  await pingress.waitForControllers();
}

function route() {
  return {
    apiVersion: V1,
    kind: "HTTPRoute",
    metadata: { name: "web" },
    spec: {
      parentRefs: [{ name: "web" }],
      hostnames: [HOST],
      rules: [{ backendRefs: [{ name: "app", port: 80 }] }],
    },
  };
}

type Entry = Pick<LoadPlan, "address" | "httpPort" | "httpsPort">;

/** Where the Gateway's Service is, once it answers. */
async function addressOf({ cluster }: Scene, namespace: string): Promise<Entry> {
  return await eventually("answer at the Gateway's address", async () => {
    const service = await cluster.get("v1", "Service", `web-${CLASS_NAME}`, namespace);
    const { clusterIP: address } = (service?.spec ?? {}) as { readonly clusterIP?: string };
    if (address === undefined) return null;
    const answer = await ask({ address, port: 80 }, { host: HOST, path: "/?id=1" })
      .catch(() => null);
    return answer?.status === 200 ? { address, httpPort: 80, httpsPort: 443 } : null;
  }, PATIENCE);
}

/** Load on the Gateway's address while `during` runs. */
async function under(
  scene: Scene,
  { timeout, ...entry }: Entry & { readonly timeout?: number },
  during: (load: Awaited<ReturnType<Scene["load"]>>) => Promise<void>,
  judge: (report: LoadReport, failures: readonly string[]) => void,
): Promise<void> {
  const streams = (["new", "kept"] as const).map((connections) => ({
    ...{ name: connections, connections, method: "GET", rate: RATE } as const,
    ...{ host: HOST, path: "/", timeout },
  }));
  await using load = await scene.load({ ...entry, streams });
  await during(load);
  judge(await load.stop(), linesOf(load.failures));
}

/** Deletes one, and waits until it is gone and another one is ready in its place, at another address. */
async function deleteProxy(scene: Scene): Promise<void> {
  const [{ metadata: { name } }, ...others] = await scene.pingress.proxies();
  await scene.cluster.delete("v1", "Pod", name, NAMESPACE);
  await scene.proxiesGone([name]);
  await scene.cluster.waitReady(
    NAMESPACE,
    `app.kubernetes.io/name=${PROXY}`,
    others.length + 1,
  );
}

/** Whether new connections to the address all succeed: one in two fails while a proxy that has gone is listed. */
async function isSteady({ address, httpPort: port }: Entry): Promise<boolean> {
  for (let i = 0; i < CONNECTIONS; i++) {
    const answer = await ask({ address, port }, { host: HOST, path: "/?id=1" }).catch(() => null);
    if (answer?.status !== 200) return false;
  }
  return true;
}

/** Whether the Gateway's EndpointSlices have the addresses of the proxies, and no others. */
async function isTrue({ cluster, pingress }: Scene, namespace: string): Promise<boolean> {
  const labelSelector = `kubernetes.io/service-name=web-${CLASS_NAME}`;
  const slices = await cluster.list<EndpointSlice>("discovery.k8s.io/v1", "EndpointSlice", {
    namespace,
    labelSelector,
  });
  const listed = slices.flatMap(({ endpoints }) => endpoints ?? [])
    .flatMap(({ addresses }) => addresses);
  const proxies = (await pingress.proxies()).map(({ status }) =>
    (status as { readonly podIP?: string }).podIP
  );
  return listed.toSorted().join() === proxies.toSorted().join();
}
