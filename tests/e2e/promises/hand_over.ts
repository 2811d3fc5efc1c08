/**
 * The leader is killed while it writes. In: a scene. Out: how long until all that was asked for is
 * published, which only a leader does, and whether proxies have all of it.
 */
import type { LiveConfigMap, LiveSecret } from "../../../controller/outputs/publish/objects.ts";
import { readPublishedSet } from "../../../controller/outputs/publish/published.ts";
import { eventually } from "../../cluster/support/condition.ts";
import { ingressFor } from "../cluster/app/application.ts";
import { NAMESPACE } from "../cluster/installation.ts";
import { isReady } from "../cluster/node_cluster.ts";
import { Finding } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const RATE = 50;

/** Ingresses that are changed while the leader ends. */
const CHANGES = 20;

/** Until a successor has published, in ms: after a lease has run out, or after a goodbye. */
const AIMS = { SIGKILL: 17_000, SIGTERM: 2_000 };

type Ending = keyof typeof AIMS;

interface IngressHosts {
  readonly spec: { readonly rules: readonly { readonly host: string }[] };
}

export async function handOver(scene: Scene, form: Form): Promise<Finding> {
  const times = form === "long" ? 20 : 2;
  const finding = new Finding("hand-over");
  await scene.within("hand-over", async (namespace) => {
    const host = "hand-over.test";
    await scene.application({ namespace, replicas: 2, host });
    await using load = await scene.load({ streams: mixedStreams(host, RATE) });
    const took: Record<Ending, number[]> = { SIGKILL: [], SIGTERM: [] };
    for (let turn = 0; turn < times; turn++) {
      const ending = turn % 3 === 1 ? "SIGTERM" : "SIGKILL";
      took[ending].push(await once(scene, namespace, host, turn, ending));
    }
    noteLoad(finding, await load.stop());
    finding.note("leaders ended", `${took.SIGKILL.length} killed, ${took.SIGTERM.length} stopped`);
    for (const ending of ["SIGKILL", "SIGTERM"] as const) {
      const name = ending === "SIGKILL" ? "killed" : "stopped";
      finding.time(
        `${name}, until all is published, at most`,
        Math.max(...took[ending]),
        AIMS[ending],
      );
    }
    finding.count("failed", load.failures.length, 0, linesOf(load.failures));
  });
  return finding;
}

/** Changes many Ingresses, ends the leader among it; how long until all is published, in ms. */
async function once(
  scene: Scene,
  namespace: string,
  host: string,
  turn: number,
  ending: Ending,
): Promise<number> {
  const leader = await eventually("leader", () => scene.pingress.leader(), 60_000);
  const names = Array.from({ length: CHANGES }, (_, index) => `n${index}.t${turn}.${host}`);
  const writing = (async () => {
    for (const [index, host] of names.entries()) {
      const ingress = ingressFor({ name: `changed-${index}`, host, service: "app" });
      await scene.cluster.apply(ingress, { namespace });
      // A few are published, in several writes, before the leader ends.
      await new Promise((resume) => setTimeout(resume, 40));
    }
  })();
  await new Promise((resume) => setTimeout(resume, CHANGES * 40 / 2));
  await scene.cluster.kill(NAMESPACE, leader.metadata.name, ending);
  const ended = performance.now();
  await writing;
  await eventually(`all hosts of turn ${turn}, and no others, in what is published`, async () => {
    return await isAllPublished(scene);
  }, 120_000);
  const took = performance.now() - ended;
  for (const name of [names[0], names.at(-1)!]) await scene.served(name);
  // The kubelet waits longer each time before it starts a killed process anew.
  await scene.replace(leader);
  await eventually("another controller in its place", async () => {
    const controllers = await scene.pingress.controllers();
    const isGone = controllers.every(({ metadata }) => metadata.uid !== leader.metadata.uid);
    return isGone && controllers.length > 1 && controllers.every(isReady);
  }, 120_000);
  return took;
}

/** Whether what is published is whole, and has the hosts of all Ingresses, and no others. */
async function isAllPublished({ cluster }: Scene): Promise<boolean> {
  const [configMaps, secrets, ingresses] = await Promise.all([
    cluster.list<LiveConfigMap>("v1", "ConfigMap", { namespace: NAMESPACE }),
    cluster.list<LiveSecret>("v1", "Secret", { namespace: NAMESPACE }),
    cluster.list<IngressHosts>("networking.k8s.io/v1", "Ingress"),
  ]);
  const { snapshot, problem } = readPublishedSet(configMaps, secrets);
  if (snapshot === null || problem !== null) return false;
  const published = new Set(snapshot.routes.map((route) => route.host));
  const wanted = new Set(ingresses.flatMap(({ spec }) => spec.rules.map(({ host }) => host)));
  return published.size === wanted.size && published.isSupersetOf(wanted);
}
