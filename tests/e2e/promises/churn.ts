/**
 * Ingresses are created and deleted in numbers under load. In: a scene. Out: what failed of a route
 * that nobody touched: nothing, and what the proxies' memory has come to.
 */
import { ingressFor } from "../cluster/app/application.ts";
import { Finding, inWords } from "./finding.ts";
import { compareMemory, Memory } from "./memory.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const RATE = 100;

/** Ingresses a second. */
const PACE = 50;

export async function churn(scene: Scene, form: Form): Promise<Finding> {
  const count = form === "long" ? 1_000 : 100;
  const finding = new Finding("churn");
  await scene.within("churn", async (namespace) => {
    const host = "untouched.test";
    const { cluster } = scene;
    await scene.application({ namespace, replicas: 2, host });
    await using load = await scene.load({ streams: mixedStreams(host, RATE) });
    await load.lasts(5_000);
    const before = await Memory.of(scene);
    const names = Array.from({ length: count }, (_, index) => `churn-${index}`);
    const began = performance.now();
    await paced(names, async (name) => {
      const ingress = ingressFor({ name, host: `${name}.test`, service: "app" });
      await cluster.create(ingress, namespace);
    });
    const created = performance.now();
    await scene.served(`${names.at(-1)}.test`);
    const served = performance.now();
    await paced(names, async (name) => {
      await cluster.delete("networking.k8s.io/v1", "Ingress", name, namespace);
    });
    await scene.notServed(`${names.at(-1)}.test`);
    await load.lasts(form === "long" ? 30_000 : 5_000);
    noteLoad(finding, await load.stop());
    finding.note("Ingresses created and deleted", `${count}, in ${inWords(created - began)}`);
    finding.note("the last one was served after", inWords(served - created));
    finding.count(
      "failed requests to other routes",
      load.failures.length,
      0,
      linesOf(load.failures),
    );
    compareMemory(finding, before, await Memory.settled(scene, before));
  });
  return finding;
}

/** Runs one for each name, `PACE` a second, some of them at the same time. */
async function paced(
  names: readonly string[],
  one: (name: string) => Promise<void>,
): Promise<void> {
  const began = performance.now();
  await Promise.all(names.map(async (name, index) => {
    const wait = began + index * 1_000 / PACE - performance.now();
    await new Promise((resume) => setTimeout(resume, Math.max(0, wait)));
    await one(name);
  }));
}
