/**
 * An honest client of HTTP/2 and its own backend, in a thread of their own, so that an attacker in
 * the main thread slows neither down. In: a port, then words. Out: the backend's port, then how
 * requests went since the last word.
 *
 *     ▶ (started)            ◀ { backend: port }
 *     ▶ { port }             asks without end, with a pause between
 *     ▶ "report"             ◀ CanaryReport, and starts anew
 */
import { Backend } from "../support/backend.ts";
import { Canary } from "../support/h2_scene.ts";
import { H2Peer } from "../support/h2_peer.ts";

export interface CanaryReport {
  readonly answers: number;
  readonly wrong: readonly string[];
  /** In ms. */
  readonly median: number;
  readonly p99: number;
}

const worker = self as unknown as {
  onmessage: ((event: MessageEvent) => void) | null;
  postMessage(message: unknown): void;
};

const backend = new Backend();
let canary: Canary | null = null;

worker.onmessage = async ({ data }) => {
  if (data !== "report") {
    canary = new Canary(await H2Peer.connect(data.port));
    return;
  }
  const times = canary!.times.splice(0).sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  worker.postMessage(
    {
      answers: times.length,
      wrong: canary!.wrong.splice(0),
      median: at(0.5),
      p99: at(0.99),
    } satisfies CanaryReport,
  );
};
worker.postMessage({ backend: backend.port });
