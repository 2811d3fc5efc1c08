/**
 * The thread that exports spans, the only one that may dial their collector. In: its settings and a port, by
 * the first message of the first thread; then batches by that port. Out: requests to the collector.
 *
 * It reads no file and listens nowhere. Whatever goes wrong in it ends no request and no other thread.
 */
/// <reference lib="deno.worker" />
import { exportFrom } from "../telemetry/traces/exporter.ts";
import type { TraceExport } from "../telemetry/traces/options.ts";

/** First of all, once. */
export interface ExporterStart {
  readonly target: TraceExport;
  readonly port: MessagePort;
}

self.onmessage = ({ data: { target, port } }: MessageEvent<ExporterStart>) => {
  exportFrom(port, target);
};
self.postMessage("up");
