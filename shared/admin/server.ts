/**
 * The admin port: `/healthz`, `/readyz` and what a program adds. In: the lifecycle and handlers by
 * path. Out: a small HTTP/1 server for probes, scrapers and people; no traffic of users passes here.
 * GET and HEAD only, one request a connection.
 */
import { isIP } from "node:net";
import { type Address } from "../net/address.ts";
import { type AdminPeer } from "./connection.ts";
import { ADMIN_LIMITS, type AdminLimits, AdminListener } from "./listener.ts";
import { type AdminRequest } from "./request.ts";
import { textResponse } from "./response.ts";
import { type Lifecycle } from "../lifecycle.ts";
import { type Logger, silentLogger } from "../log.ts";

/** Answers GET and HEAD of one path. For HEAD the body is dropped afterwards. */
export type AdminHandler = (request: Request, peer: AdminPeer) => Response | Promise<Response>;

export interface AdminOptions extends Address {
  readonly lifecycle: Lifecycle;
  /** By exact path: `{"/metrics": …}`. */
  readonly handlers?: Readonly<Record<string, AdminHandler>>;
  /** Default: `ADMIN_LIMITS`. */
  readonly limits?: Partial<AdminLimits>;
  readonly logger?: Logger;
}

export interface AdminServer {
  /** With the port that was chosen where 0 was asked for. */
  readonly address: Address;
  /** Lets answers that were begun finish for a second, then ends all. Frees the port. */
  close(): Promise<void>;
}

/** How long `close` waits for answers that were begun, in ms. */
const CLOSE_DEADLINE = 1000;

/** Throws what `Deno.listen` throws (see `describeListenError`) when the port cannot be had. */
export function startAdmin(options: AdminOptions): AdminServer {
  const logger = options.logger ?? silentLogger;
  const handlers = new Map<string, AdminHandler>([
    ["/healthz", () => textResponse(200, "ok")],
    ["/readyz", () => readyz(options.lifecycle)],
    ...Object.entries(options.handlers ?? {}),
  ]);
  const listener = new AdminListener(options, {
    limits: { ...ADMIN_LIMITS, ...options.limits },
    logger,
    async answer(request, peer) {
      let response: Response;
      try {
        response = await answer(request, peer, handlers);
      } catch (error) {
        // A handler's mistake: the log gets it, the client only learns that there was one.
        logger.error("Admin request failed", { error });
        response = textResponse(500, "Internal error");
      }
      response.headers.set("x-content-type-options", "nosniff");
      response.headers.set("cache-control", "no-store");
      return response;
    },
  });
  return { address: listener.address, close: () => listener.close(CLOSE_DEADLINE) };
}

/**
 * A handler that answers this machine alone, as through `kubectl port-forward`: what it shows is for
 * those who run the program, while the port may have to be open to probes and scrapers.
 *
 * The Host field must be an address or `localhost`, so that a web page cannot read it through a name
 * that it makes point here (DNS rebinding).
 */
export function loopbackOnly(handler: AdminHandler): AdminHandler {
  return (request, peer) => {
    if (!LOOPBACK.has(peer.address.toLowerCase())) {
      return textResponse(
        403,
        "Answered on loopback only: use kubectl port-forward, and ask 127.0.0.1",
      );
    }
    if (!isNoName(new URL(request.url).hostname)) {
      return textResponse(421, "Answered to addresses and localhost only, not to other names");
    }
    return handler(request, peer);
  };
}

/**
 * What `kubectl port-forward` and a browser beside the proxy come from. Not the rest of 127.0.0.0/8:
 * behind a sidecar everybody comes from 127.0.0.6 (Istio's inbound passthrough).
 */
const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "::ffff:127.0.0.1"]);

function isNoName(hostname: string): boolean {
  const name = hostname.replace(/^\[(.*)\]$/, "$1");
  return name === "localhost" || isIP(name) !== 0;
}

function answer(
  { method, url, headers }: AdminRequest,
  peer: AdminPeer,
  handlers: ReadonlyMap<string, AdminHandler>,
): Response | Promise<Response> {
  const handler = handlers.get(url.pathname);
  if (handler === undefined) {
    return textResponse(404, `Not found; here are ${[...handlers.keys()].sort().join(", ")}`);
  }
  if (method !== "GET" && method !== "HEAD") {
    const response = textResponse(405, "Only GET and HEAD");
    response.headers.set("allow", "GET, HEAD");
    return response;
  }
  return handler(new Request(url, { method, headers }), peer);
}

function readyz(lifecycle: Lifecycle): Response {
  const readiness = lifecycle.readiness();
  return readiness.ready ? textResponse(200, "ready") : textResponse(503, readiness.reason);
}
