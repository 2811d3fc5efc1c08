/**
 * `deno task bench:filters`. In: how often and how long. Out: the CPU per request of routes with filters
 * beside a plain route, and the latencies of a plain route beside floods; on standard error, how far it is.
 *
 * The exit code is 1 where something did not work, and never because of a figure.
 */
import { runCommand } from "../command.ts";
import { H1_SMALL } from "../cases/h1_small.ts";
import { missingLoad } from "../load.ts";
import { describeMachine, disturbance } from "../machine.ts";
import { formatText } from "../report.ts";
import { withSurroundings } from "../surroundings.ts";
import { costTable, measureCosts, type RouteRounds } from "./costs.ts";
import { type FloodRounds, flowTable, measureFloods, plainTable } from "./floods.ts";
import { type FilterBenchOptions, parseFilterBenchOptions } from "./options.ts";
import { startAuthServer, startFilterProxy, TRUSTING } from "./proxy.ts";

async function main(options: FilterBenchOptions): Promise<void> {
  const { rounds, starts, seconds, floodSeconds, warmUp, together, routes, rate, parts, json } =
    options;
  const missing = await missingLoad(H1_SMALL);
  if (missing !== null) throw new Error(missing);
  console.log(`${await describeMachine()}; ${rounds} rounds of ${seconds} s, ${starts} starts`);
  const disturbed = disturbance();
  if (disturbed !== null) console.log(disturbed);
  const begin = performance.now();
  const say = (doing: string) =>
    console.error(`${((performance.now() - begin) / 60_000).toFixed(1)} min: ${doing}`);
  await withSurroundings(async ({ backend, folder }) => {
    const auth = await startAuthServer();
    const address = await backend.addressFor(H1_SMALL);
    const start = (flags: readonly string[]) =>
      startFilterProxy(address, auth.address, folder, flags);
    let costs: readonly RouteRounds[] | null = null;
    let floods: FloodRounds | null = null;
    try {
      if (parts.has("costs")) {
        costs = await measureCosts(
          { rounds, starts, seconds, warmUp, together },
          routes,
          () => start([]),
          folder,
          say,
        );
        console.log(`\nCPU of the proxy\n${formatText(costTable(costs))}\n`);
        for (const { name, about } of routes) console.log(`  ${name}: ${about}`);
      }
      if (parts.has("floods")) {
        const proxy = await start(TRUSTING);
        try {
          const schedule = { rounds, seconds: floodSeconds, rate };
          floods = await measureFloods(schedule, proxy, folder, say);
        } finally {
          await proxy.child.stop();
        }
        console.log(`\nFloods, with ${rate} requests a second to a plain route`);
        console.log(`${formatText(plainTable(floods))}\n\n${formatText(flowTable(floods))}`);
      }
    } finally {
      await auth.child.stop();
    }
    if (json !== undefined) {
      await Deno.writeTextFile(json, `${JSON.stringify({ costs, floods }, null, 2)}\n`);
    }
  });
}

await runCommand(parseFilterBenchOptions(Deno.args), main);
