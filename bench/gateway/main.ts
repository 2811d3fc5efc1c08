/**
 * `deno task bench:gateway`. In: sizes. Out: how long a thousand new HTTPRoutes take until all of them are attached,
 * how often their Gateway's status is written meanwhile, and how long a single new route among thousands takes
 * until its first 200.
 *
 * The exit code is 1 where something did not work, a response other than 404 before the first 200 included, and
 * never because it was slow.
 */
import { startCluster } from "../../tests/cluster/support/cluster.ts";
import { Peer } from "../../tests/support/backend.ts";
import { runCommand } from "../command.ts";
import { counterDifference } from "../controller/counters.ts";
import { describeMachine, disturbance } from "../machine.ts";
import { percentilesOf } from "../percentiles.ts";
import { formatText, type Table } from "../report.ts";
import { type GatewayBenchOptions, parseGatewayBenchOptions } from "./options.ts";
import { GatewayBenchScene, statusFor } from "./scene.ts";

interface Attaching {
  /** From the first request until the API server's last response, in ms. */
  readonly creating: number;
  /** From then until the Gateway's status has counted all. */
  readonly attached: number;
  readonly gatewayWrites: number;
}

/** Routes that are added one after the other. */
interface Single {
  /** Until the first 200 of each, in ms. */
  readonly times: readonly number[];
  /** Of the controller for one of them, status and publication included, in ms. */
  readonly cpu: number;
  readonly translating: number;
}

async function main(options: GatewayBenchOptions): Promise<void> {
  await using cluster = await startCluster({ name: "the benchmark of Gateways" });
  if (cluster === null) return;
  const { attached, routes, changes, pause, controllerArg, json } = options;
  console.log(await describeMachine());
  const disturbed = disturbance();
  if (disturbed !== null) console.log(disturbed);
  await using scene = await GatewayBenchScene.start(cluster, controllerArg);
  const attaching = await attach(scene, attached);
  const more = Array.from({ length: routes - attached }, (_, i) => `more-${i}`);
  await scene.addRoutes(more);
  await scene.attached(routes);
  const before = await scene.counters();
  const cpuBefore = scene.controllerCpu;
  const times = await addOneByOne(scene, changes, pause);
  const { translating } = counterDifference(before, await scene.counters());
  const single: Single = {
    times,
    cpu: (scene.controllerCpu - cpuBefore) / changes,
    translating: translating / changes,
  };
  console.log(formatText(table(options, attaching, single)));
  console.log(`load average of the last minute ${Deno.loadavg()[0].toFixed(1)}`);
  if (json !== undefined) {
    await Deno.writeTextFile(json, `${JSON.stringify({ attaching, single }, null, 2)}\n`);
  }
}

async function attach(scene: GatewayBenchScene, count: number): Promise<Attaching> {
  const before = await scene.counters();
  const began = performance.now();
  await scene.addRoutes(Array.from({ length: count }, (_, i) => `route-${i}`));
  const created = performance.now();
  await scene.attached(count);
  const ended = performance.now();
  const { calls } = counterDifference(before, await scene.counters());
  return {
    creating: created - began,
    attached: ended - created,
    gatewayWrites: calls["patch gateways/status"] ?? 0,
  };
}

/** From the API server's response to each route until its first 200, in ms. */
async function addOneByOne(
  scene: GatewayBenchScene,
  count: number,
  pause: number,
): Promise<readonly number[]> {
  using client = await Peer.connect(scene.port);
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const name = `single-${i}`;
    if (await statusFor(client, name) !== 404) throw new Error(`${name} is there too early`);
    await scene.addRoute(name);
    const created = performance.now();
    const status = await scene.firstStatus(client, name);
    times.push(performance.now() - created);
    if (status !== 200) throw new Error(`${name}: ${status} comes after 404`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
  return times;
}

function table(
  { attached, routes, changes }: GatewayBenchOptions,
  attaching: Attaching,
  { times, cpu, translating }: Single,
): Table {
  const { p50, p99 } = percentilesOf(times);
  const millis = (ms: number) => `${ms.toFixed(0)} ms`;
  return [
    ["", "aim", ""],
    [`${attached} new routes: creating them`, "", millis(attaching.creating)],
    ["from then until all are attached", "< 2 s", millis(attaching.attached)],
    ["writes of the Gateway's status", "≤ 20", String(attaching.gatewayWrites)],
    [
      `${changes} times one more than ${routes} routes: until its first 200, p50`,
      "20 ms",
      millis(p50),
    ],
    ["p99", "100 ms", millis(p99)],
    ["translating for each, on average", "", `${translating.toFixed(1)} ms`],
    ["CPU of the controller for each, on average", "", `${cpu.toFixed(1)} ms`],
  ];
}

await runCommand(parseGatewayBenchOptions(Deno.args), main);
