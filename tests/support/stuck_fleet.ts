/**
 * A program that lets a worker hang, and prints what its fleet says of that; with the argument
 * `drain`, when its fleet has drained nevertheless. With `swell` the worker fills its heap instead.
 */
import { snapshotOf, startFleet } from "./fleet.ts";

const drains = Deno.args.includes("drain");
const swells = Deno.args.includes("swell");
const fleet = startFleet(2, (reason) => {
  if (drains || swells) return;
  console.log(`stuck: ${reason}`);
  Deno.exit(0);
});
fleet.apply(snapshotOf(1), []);
await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
fleet.apply(snapshotOf(2, swells ? "swell" : "hang"), []);
if (drains) {
  await fleet.drain({ delay: 0, timeout: 100 });
  console.log("drained");
  Deno.exit(0);
}
