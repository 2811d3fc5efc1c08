/** A program that lets a worker hang, and prints what its fleet says of that. */
import { snapshotOf, startFleet } from "./fleet.ts";

const fleet = startFleet(2, (reason) => {
  console.log(`stuck: ${reason}`);
  Deno.exit(0);
});
fleet.apply(snapshotOf(1), []);
await fleet.listen({ http: [{ hostname: "127.0.0.1", port: 0 }], https: [] });
fleet.apply(snapshotOf(2, "hang"), []);
