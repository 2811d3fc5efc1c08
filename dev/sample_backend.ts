/**
 * Two programs to send requests to where there are no pods. In: the Services that they stand in
 * for. Out: ports on this machine's loopback address whose answers say who answered, for which
 * Service, and what came in. POST, PUT and PATCH get their body back.
 *
 * Each Service has a port of its own on both, so that an answer knows its Service by itself.
 */
import type { Endpoint } from "../shared/snapshot.ts";

const LOOPBACK = "127.0.0.1";

/** Services with ports of their own; more share one pair of ports, to spare descriptors. */
const MAX_SERVICES = 100;

const NAMES = ["one", "two"] as const;

const ECHOED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** What a sample backend tells about a request. */
interface Account {
  readonly backend: string;
  /** `<namespace>/<service>`; null on the shared ports. */
  readonly service: string | null;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyBytes: number;
}

export class SampleBackends {
  #servers: Deno.HttpServer[] = [];
  #shared: readonly Endpoint[];
  #own = new Map<string, readonly Endpoint[]>();

  /** Listens at once; throws what `Deno.serve` throws. */
  constructor() {
    this.#shared = this.#listen(null);
  }

  /** Where both of them listen for this Service. */
  endpointsFor(namespace: string, name: string): readonly Endpoint[] {
    const key = `${namespace}/${name}`;
    let endpoints = this.#own.get(key);
    if (endpoints === undefined) {
      if (this.#own.size === MAX_SERVICES) return this.#shared;
      endpoints = this.#listen(key);
      this.#own.set(key, endpoints);
    }
    return endpoints;
  }

  /** Takes no more, and waits for answers that were begun. */
  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = [];
    await Promise.all(servers.map((server) => server.shutdown()));
  }

  #listen(service: string | null): readonly Endpoint[] {
    return NAMES.map((backend) => {
      const server = Deno.serve(
        { hostname: LOOPBACK, port: 0, onListen() {} },
        (request) => answer(request, backend, service),
      );
      this.#servers.push(server);
      return { address: LOOPBACK, port: (server.addr as Deno.NetAddr).port };
    });
  }
}

async function answer(
  request: Request,
  backend: string,
  service: string | null,
): Promise<Response> {
  const headers = new Headers({
    "x-sample-backend": backend,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  if (service !== null) headers.set("x-sample-service", service);
  if (ECHOED.has(request.method)) {
    headers.set(
      "content-type",
      request.headers.get("content-type") ?? "application/octet-stream",
    );
    return new Response(request.body, { headers });
  }
  let bodyBytes = 0;
  for await (const part of request.body ?? []) bodyBytes += part.byteLength;
  const url = new URL(request.url);
  const account: Account = {
    backend,
    service,
    method: request.method,
    path: url.pathname + url.search,
    headers: Object.fromEntries(request.headers),
    bodyBytes,
  };
  const accept = request.headers.get("accept") ?? "";
  const [type, body] = accept.includes("text/html")
    ? ["text/html", asPage(account)]
    : accept.includes("json")
    ? ["application/json", JSON.stringify(account, null, 2) + "\n"]
    : ["text/plain", asText(account)];
  headers.set("content-type", `${type}; charset=utf-8`);
  return new Response(body, { headers });
}

function asText(account: Account): string {
  return [
    `Sample backend ${account.backend}${standsFor(account)}`,
    "",
    `${account.method} ${account.path}`,
    ...Object.entries(account.headers).map(([name, value]) => `${name}: ${value}`),
    "",
    `${account.bodyBytes} bytes of body`,
    "",
  ].join("\n");
}

function asPage(account: Account): string {
  const rows = Object.entries(account.headers)
    .map(([name, value]) => `<tr><th>${escape(name)}</th><td>${escape(value)}</td></tr>`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>Sample backend ${escape(account.backend)}</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 45rem; margin: 3rem auto; padding: 0 1rem }
  th { text-align: left; vertical-align: top; white-space: nowrap; padding-right: 1.5rem }
  td { overflow-wrap: anywhere }
  code { font-size: 1.1rem }
</style>
<h1>Sample backend ${escape(account.backend)}</h1>
<p>This answer came through Pingress${
    account.service === null
      ? ""
      : `. In a cluster, a pod of the Service <b>${escape(account.service)}</b> would have given it`
  }.</p>
<p><code>${escape(account.method)} ${
    escape(account.path)
  }</code>, ${account.bodyBytes} bytes of body</p>
<table>
${rows.join("\n")}
</table>
</html>
`;
}

function standsFor(account: Account): string {
  return account.service === null ? "" : `, in place of a pod of ${account.service}`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
