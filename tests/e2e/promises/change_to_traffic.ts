/**
 * From `kubectl apply` of a route until clients see it. In: a scene. Out: percentiles of the time from
 * when the API server told its watchers until every node's proxy answered, and of the whole.
 */
import { stringify } from "yaml";
import { ingressFor } from "../cluster/app/application.ts";
import { Client } from "./client.ts";
import { Finding, inWords, percentile } from "./finding.ts";
import type { Form, Scene } from "./scene.ts";
import { Watch } from "./watch.ts";

/** Between two requests that still get a 404, in ms. */
const PAUSE = 4;

/** After this long without the route something is broken, in ms. */
const PATIENCE = 60_000;

export async function changeToTraffic(scene: Scene, form: Form): Promise<Finding> {
  const times = form === "long" ? 200 : 20;
  const finding = new Finding("change to traffic");
  await scene.within("change", async (namespace) => {
    const host = "change.test";
    await scene.application({ namespace, replicas: 1, host });
    const path = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`;
    await using watch = await Watch.open(scene.cluster, path);
    const beyond: number[] = [];
    const whole: number[] = [];
    const api: number[] = [];
    for (let index = 0; index < times; index++) {
      const name = `route-${index}`;
      const route = ingressFor({ name, host: `${name}.${host}`, service: "app" });
      const seen = scene.cluster.nodeAddresses.map((address) =>
        appears(address, `${name}.${host}`)
      );
      const began = performance.now();
      await scene.cluster.kubectl(
        ["apply", `--namespace=${namespace}`, "--filename=-"],
        stringify(route),
      );
      const told = await watch.first(name);
      const end = Math.max(...await Promise.all(seen));
      beyond.push(end - told);
      api.push(told - began);
      whole.push(end - began);
    }
    finding.note("routes applied", times);
    finding.time("beyond the API server's own time, p50", percentile(beyond, 0.5), 100);
    finding.time("beyond the API server's own time, p99", percentile(beyond, 0.99), 300);
    finding.note("kubectl and API server, p50", inWords(percentile(api, 0.5)));
    finding.note("all together, p50", inWords(percentile(whole, 0.5)));
  });
  return finding;
}

/** When a proxy first answers 200 for a host, by `performance.now()`. */
async function appears(address: string, host: string): Promise<number> {
  const end = performance.now() + PATIENCE;
  using client = new Client({ address, port: 80 });
  while (performance.now() < end) {
    const { status } = await client.ask({ host, path: "/?id=1" });
    if (status === 200) return performance.now();
    if (status !== 404) throw new Error(`${host} on ${address}: ${status}`);
    await new Promise((resume) => setTimeout(resume, PAUSE));
  }
  throw new Error(`${host} is not served on ${address} after ${inWords(PATIENCE)}`);
}
