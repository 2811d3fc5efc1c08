/**
 * A program whose workers hang for good, and that prints when its fleet has drained nevertheless. With
 * the argument `swell` they fill their heaps instead.
 */
import { snapshotOf, startFleet } from "./fleet.ts";

const swells = Deno.args.includes("swell");
const fleet = startFleet(2);
fleet.serve(snapshotOf(1), []);
await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
fleet.serve(snapshotOf(2, swells ? "swell" : "hang"), []);
if (!swells) {
  await fleet.drain({ delay: 0, timeout: 100 });
  console.log("drained");
  Deno.exit(0);
}
