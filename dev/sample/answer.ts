/**
 * What a sample backend answers. In: a request, and who is asked for which Service. Out: the answer,
 * which tells what came in; POST, PUT and PATCH get their body back, and WebSockets their messages.
 */
import { escapeHtml, htmlPage, wantsHtml } from "../pages/html.ts";
import { echoWebSocket, eventStream, isWebSocket } from "./streams.ts";

const ECHOED: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH"]);

/** Who answers. */
export interface SampleName {
  readonly backend: string;
  /** `<namespace>/<service>`; null on the shared ports. */
  readonly service: string | null;
}

/** Fields by which an answer says whose it is. */
export function nameFields({ backend, service }: SampleName): Record<string, string> {
  return {
    "x-sample-backend": backend,
    ...(service === null ? {} : { "x-sample-service": service }),
  };
}

/** What a sample backend tells about a request. */
interface Account extends SampleName {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyBytes: number;
}

/** By which a subrequest of `auth-url` says what it is; clients cannot add it to one. */
const SUBREQUEST = ["x-sent-from", "nginx-ingress-controller"] as const;

/** Rejects only as the request's body does. */
export async function answer(request: Request, name: SampleName): Promise<Response> {
  const headers = new Headers({
    ...nameFields(name),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  // In place of a program that knows who may send requests: it would admit everybody.
  if (request.headers.get(SUBREQUEST[0]) === SUBREQUEST[1]) {
    headers.set("content-type", "text/plain; charset=utf-8");
    return new Response(refusal(name), { status: 401, headers });
  }
  if (isWebSocket(request)) return echoWebSocket(request);
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
    ...name,
    method: request.method,
    path: url.pathname + url.search,
    headers: Object.fromEntries(request.headers),
    bodyBytes,
  };
  const accept = request.headers.get("accept") ?? "";
  if (accept.includes("text/event-stream")) {
    headers.set("content-type", "text/event-stream");
    return new Response(eventStream(asText(account)), { headers });
  }
  const [type, body] = wantsHtml(accept)
    ? ["text/html", asPage(account)]
    : accept.includes("json")
    ? ["application/json", JSON.stringify(account, null, 2) + "\n"]
    : ["text/plain", asText(account)];
  headers.set("content-type", `${type}; charset=utf-8`);
  return new Response(body, { headers });
}

function refusal({ backend, service }: SampleName): string {
  return `Sample backend ${backend} admits nobody. Start your own program, and deno task dev with ` +
    `--map ${service ?? "NAMESPACE/SERVICE"}=127.0.0.1:PORT\n`;
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
    .map(([name, value]) => `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(value)}</td></tr>`);
  return htmlPage(
    `Sample backend ${account.backend}`,
    `<p>This answer came through Pingress${
      account.service === null
        ? ""
        : `. In a cluster, a pod of the Service <b>${
          escapeHtml(account.service)
        }</b> would have given it`
    }.</p>
<p><code>${escapeHtml(account.method)} ${
      escapeHtml(account.path)
    }</code>, ${account.bodyBytes} bytes of body</p>
<table>
${rows.join("\n")}
</table>`,
  );
}

function standsFor(account: Account): string {
  return account.service === null ? "" : `, in place of a pod of ${account.service}`;
}
