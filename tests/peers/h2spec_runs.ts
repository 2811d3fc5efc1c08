/**
 * `deno task h2spec`: h2spec's strict cases against `deno task proxy`, time after time, over TLS and
 * with prior knowledge. In: how many times. Out: `147/147` for each run; exit code 1 where a case
 * failed once.
 */
import type { Certificate } from "../../shared/snapshot/types.ts";
import { Backend } from "../support/backend.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { certificate, snapshotFor } from "./front.ts";
import { findPrograms, H2SPEC } from "./go_program.ts";
import { taskOptions } from "../../tools/task_options.ts";
import { CASES, playPage, runH2spec } from "./h2spec.ts";

/** The front's certificate as a configuration has it. */
function inline(): Certificate {
  const { id, hosts, chain, key } = certificate;
  return {
    id,
    hosts,
    chain: { kind: "pem", pem: chain },
    key: { kind: "secret", pem: key },
    origin: { kind: "Secret", namespace: "test", name: id, field: "data" },
  };
}

/** Runs it so many times; true where every case has passed each time. */
async function repeat(program: string, runs: number): Promise<boolean> {
  await using backend = new Backend(playPage);
  const snapshot = snapshotFor({ protocol: "http", ports: [backend.port] });
  await using proxy = await ProxyProcess.start({
    snapshot: { ...snapshot, certificates: [inline()] },
    // Over HTTPS there is a certificate for what h2spec calls.
    args: ["--workers=2", "--allow-loopback-upstreams", "--ssl-redirect=false"],
  });
  let isRight = true;
  for (let run = 1; run <= runs; run++) {
    for (const tls of [true, false]) {
      const port = tls ? proxy.httpsPort : proxy.httpPort;
      const { count, passed, failed } = await runH2spec(program, port, { tls });
      console.log(`run ${run}, ${tls ? "TLS" : "prior knowledge"}: ${passed}/${count}`);
      for (const line of failed) console.log(`  ${line}`);
      isRight &&= passed === CASES && count === CASES;
    }
  }
  return isRight;
}

if (import.meta.main) {
  const { runs } = taskOptions({
    name: "deno task h2spec",
    summary: "Runs the HTTP/2 conformance cases of h2spec against the proxy.",
  }, {
    runs: { type: "integer", min: 1, default: 10, help: "How often each case is run." },
  }, Deno.args);
  const found = await findPrograms("h2spec", [H2SPEC]);
  if (found === null) Deno.exit(1);
  Deno.exit(await repeat(found[0], runs) ? 0 : 1);
}
