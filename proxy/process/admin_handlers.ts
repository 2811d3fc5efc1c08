/**
 * What the admin port shows of a proxy, besides its health. In: the hub of telemetry, and what is in
 * force. Out: handlers by path: `/metrics` for anyone, `/configuration`, `/snapshot` and `/explain`
 * for this machine alone.
 */
import { processCpuTime } from "../../shared/cpu_time.ts";
import { formatAddress } from "../../shared/net/address.ts";
import { jsonResponse, textResponse } from "../../shared/admin/response.ts";
import { type AdminHandler, loopbackOnly } from "../../shared/admin/server.ts";
import type { PathOptions } from "../../shared/path/canonical_path.ts";
import { serialiseSnapshot } from "../../shared/snapshot/serialise.ts";
import { prefersOpenMetrics } from "../http/accept.ts";
import type { Limits } from "../http/limits.ts";
import type { SocketStates } from "../listen/socket_states.ts";
import { memoryInUse } from "../listen/overload.ts";
import { CONTENT_TYPES, streamPieces } from "../telemetry/exposition.ts";
import { Scrapes } from "./scrapes.ts";
import type { ConfigurationState } from "./sources.ts";
import type { TelemetryHub } from "../telemetry/hub.ts";
import type { RedirectPort } from "./explanation_page.ts";

export interface AdminHandlersOptions {
  readonly hub: TelemetryHub;
  /** Of Pingress. */
  readonly version: string;
  /** Those that metrics show; 0 is none. */
  readonly limits: Pick<Limits, "connections" | "memoryBytes">;
  readonly state: () => ConfigurationState;
  /** Of listeners. */
  readonly sockets: () => SocketStates;
  readonly redirectPort: RedirectPort;
  /** As requests' paths are read. */
  readonly paths: PathOptions;
}

export function adminHandlers(
  { hub, version, limits, state, sockets, redirectPort, paths }: AdminHandlersOptions,
): Record<string, AdminHandler> {
  return {
    "/metrics": metricsHandler({ hub, version, limits }),
    "/configuration": loopbackOnly(() => showConfiguration(state(), sockets())),
    "/snapshot": loopbackOnly(() => showSnapshot(hub)),
    "/explain": loopbackOnly(async (request) => {
      // The router takes memory, which the supervisor of several workers needs for nothing else.
      const { explanationPage } = await import("./explanation_page.ts");
      return explanationPage(hub, redirectPort, paths, request);
    }),
  };
}

/** The process counts as started now. */
export function metricsHandler(
  { hub, version, limits }: Pick<AdminHandlersOptions, "hub" | "version" | "limits">,
): AdminHandler {
  const startedAt = Date.now();
  const scrapes = new Scrapes();
  return ({ method, headers }, { close }) => {
    const scrape = scrapes.begin(close);
    if (scrape === null) {
      const response = textResponse(503, "Too many scrapes are under way");
      response.headers.set("retry-after", "1");
      return response;
    }
    const about = {
      version,
      deno: Deno.version.deno,
      startedAt,
      now: Date.now(),
      memory: memoryInUse(),
      cpu: processCpuTime(),
      limits: { connections: limits.connections, memory_bytes: limits.memoryBytes },
    };
    const aborted = () => {
      scrape.end();
      if (method !== "HEAD") hub.scrapeAborted();
    };
    // It shows no more than the text unless there are exemplars.
    const isOpen = hub.hasExemplars && prefersOpenMetrics([headers.get("accept") ?? ""]);
    const format = isOpen ? "openmetrics" : "text";
    return new Response(streamPieces(scrape.pieces(hub.scrape(about, format)), aborted), {
      headers: { "content-type": CONTENT_TYPES[format] },
    });
  };
}

/**
 * JSON: which configuration is in force, how the controller's stream stands, and which sockets of
 * listeners are open.
 */
function showConfiguration(
  { origin, version, hash, age, file, stream }: ConfigurationState,
  sockets: SocketStates,
): Response {
  const inForce = version === null
    ? null
    : { from: origin, version, hash, ageSeconds: seconds(age) };
  const shown = stream === null ? null : {
    address: formatAddress(stream.address),
    connected: stream.controller !== null,
    controller: stream.controller,
    problem: stream.down,
    syncAgeSeconds: seconds(stream.syncAge),
    refused: stream.refused,
    zone: stream.zone,
  };
  return jsonResponse(JSON.stringify({ inForce, file, stream: shown, sockets }));
}

function seconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms) / 1000;
}

/** JSON: the snapshot in force, keys redacted, with its age. */
function showSnapshot(hub: TelemetryHub): Response {
  const { inForce } = hub;
  if (inForce === null) return textResponse(503, "No snapshot is active yet");
  const { version } = inForce.snapshot;
  const head = JSON.stringify({ version, ageSeconds: Math.round(inForce.age) / 1000 });
  const snapshot = serialiseSnapshot(inForce.snapshot, { revealKeys: false });
  return jsonResponse(`${head.slice(0, -1)},"snapshot":${snapshot}}`);
}
