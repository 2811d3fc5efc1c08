/**
 * The admin port: `/healthz`, `/readyz` and what a program adds. In: the lifecycle and handlers by
 * path. Out: a small HTTP server for probes, scrapers and people; no traffic of users passes here,
 * so `Deno.serve` is right for it.
 *
 * GET and HEAD only. The Host field must be an address, `localhost` or a name that was allowed, so
 * that a web page cannot read this port through a name that it makes point here (DNS rebinding).
 */
import { isIP } from "node:net";
import { type Address } from "./address.ts";
import { type Lifecycle } from "./lifecycle.ts";
import { type Logger, silentLogger } from "./log.ts";

/** Answers GET and HEAD of one path. For HEAD the body is dropped afterwards. */
export type AdminHandler = (request: Request, peer: AdminPeer) => Response | Promise<Response>;

/** Who asks. */
export interface AdminPeer {
  /** An IP address. */
  readonly address: string;
}

export interface AdminOptions extends Address {
  readonly lifecycle: Lifecycle;
  /** By exact path: `{"/metrics": …}`. */
  readonly handlers?: Readonly<Record<string, AdminHandler>>;
  /** Names that the Host field may hold beside addresses and `localhost`. */
  readonly allowedHosts?: readonly string[];
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

/** Throws what `Deno.serve` throws (see `describeListenError`) when the port cannot be had. */
export function startAdmin(options: AdminOptions): AdminServer {
  const logger = options.logger ?? silentLogger;
  const handlers = new Map<string, AdminHandler>([
    ["/healthz", () => text(200, "ok")],
    ["/readyz", () => readyz(options.lifecycle)],
    ...Object.entries(options.handlers ?? {}),
  ]);
  const allowedHosts = new Set(options.allowedHosts?.map((host) => host.toLowerCase()));
  const abort = new AbortController();
  const running = new Set<Promise<unknown>>();
  const server = Deno.serve({
    hostname: options.hostname,
    port: options.port,
    signal: abort.signal,
    onListen() {},
    onError: (error) => failure(error, logger),
  }, async (request, info) => {
    const ended = info.completed.catch(() => {}).finally(() => running.delete(ended));
    running.add(ended);
    const peer = { address: peerAddress(info.remoteAddr) };
    const response = await answer(request, peer, handlers, allowedHosts);
    response.headers.set("x-content-type-options", "nosniff");
    response.headers.set("cache-control", "no-store");
    return response;
  });
  return {
    address: { hostname: server.addr.hostname, port: server.addr.port },
    async close() {
      // Not `server.shutdown()`: it waits for ever for an endless answer, and Deno 2.9 throws out
      // of reach when it is aborted then.
      let timer: ReturnType<typeof setTimeout> | undefined;
      const late = new Promise<void>((resolve) => timer = setTimeout(resolve, CLOSE_DEADLINE));
      await Promise.race([Promise.all(running), late]);
      clearTimeout(timer);
      abort.abort();
      await server.finished;
    },
  };
}

/**
 * A handler that answers this machine alone, as through `kubectl port-forward`: what it shows is for
 * those who run the program, while the port may have to be open to probes and scrapers.
 */
export function loopbackOnly(handler: AdminHandler): AdminHandler {
  return (request, peer) =>
    isLoopback(peer.address) ? handler(request, peer) : text(
      403,
      "Answered on loopback only: use kubectl port-forward, and ask 127.0.0.1",
    );
}

function isLoopback(address: string): boolean {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, "");
  return plain === "::1" || (isIP(plain) === 4 && plain.startsWith("127."));
}

function peerAddress(address: Deno.Addr): string {
  return "hostname" in address ? address.hostname : "";
}

function answer(
  request: Request,
  peer: AdminPeer,
  handlers: ReadonlyMap<string, AdminHandler>,
  allowedHosts: ReadonlySet<string>,
): Response | Promise<Response> {
  const url = new URL(request.url);
  if (!isAllowedHost(url.hostname, allowedHosts)) {
    return text(421, "This port answers to addresses and localhost only, not to other names");
  }
  const handler = handlers.get(url.pathname);
  if (handler === undefined) {
    return text(404, `Not found; here are ${[...handlers.keys()].sort().join(", ")}`);
  }
  if (request.method !== "GET" && request.method !== "HEAD") {
    const response = text(405, "Only GET and HEAD");
    response.headers.set("allow", "GET, HEAD");
    return response;
  }
  return handler(request, peer);
}

function readyz(lifecycle: Lifecycle): Response {
  const readiness = lifecycle.readiness();
  return readiness.ready ? text(200, "ready") : text(503, readiness.reason);
}

function isAllowedHost(hostname: string, allowed: ReadonlySet<string>): boolean {
  const name = hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  return name === "localhost" || isIP(name) !== 0 || allowed.has(name);
}

/** A handler's mistake: the log gets it, the client only learns that there was one. */
function failure(error: unknown, logger: Logger): Response {
  logger.error("admin request failed", { error });
  return text(500, "Internal error");
}

function text(status: number, body: string): Response {
  return new Response(`${body}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}
