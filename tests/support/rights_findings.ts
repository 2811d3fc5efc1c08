/** What probes of rights found. In: findings, and ports that nobody may call. Out: what to assert. */
import type { ProbeFindings } from "./rights_probe.ts";

/** What was refused to nobody. */
export function allowed(findings: ProbeFindings): Record<string, string> {
  const refusals = ["NotCapable", "nothing"];
  return Object.fromEntries(
    Object.entries(findings).filter(([, outcome]) => !refusals.includes(outcome)),
  );
}

/** A port on which nobody is to call, and how many have. */
export function watchedPort(hostname: string) {
  const listener = Deno.listen({ hostname, port: 0 });
  let calls = 0;
  (async () => {
    for await (const connection of listener) {
      calls++;
      connection.close();
    }
  })();
  return {
    port: listener.addr.port,
    get calls() {
      return calls;
    },
    [Symbol.dispose]: () => listener.close(),
  };
}
