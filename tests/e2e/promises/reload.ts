/**
 * One configuration after another, in a proxy of its own with two workers, as `deno task soak:reload`
 * does. In: how many. Out: requests, handshakes and frames that failed, and connections that closed:
 * none.
 */
import { runReloads } from "../../soak/reloads.ts";
import { Finding, inWords } from "./finding.ts";
import type { Form, Scene } from "./scene.ts";

const WORKERS = 2;
const ROUTES = 1_000;

export async function reload(_: Scene, form: Form): Promise<Finding> {
  const finding = new Finding("reload");
  const reloads = form === "long" ? 1_000 : 20;
  const report = await runReloads({ reloads, workers: WORKERS, routes: ROUTES });
  const { requests, handshakes, frames, failures } = report;
  finding.note("configurations applied", report.applied);
  finding.note("half-written configurations rejected", report.refused);
  finding.note("load", `${requests} requests, ${handshakes} handshakes, ${frames} frames`);
  finding.count("failed", failures.length, 0, failures);
  finding.count("connections closed", report.closed, 0);
  finding.note("longest time to a response", inWords(report.longestStall));
  finding.note("longest pause of the client itself", inWords(report.longestPause));
  return finding;
}
