/**
 * Whether a proxy does what is measured; a benchmark of error pages is worth nothing. In: a target
 * and a case. Out: nothing, or an error that says what was wrong. Its clients are not those that
 * make the load: fetch, Deno's WebSocket, node:http2 for what has trailers, openssl.
 */
import { Buffer } from "node:buffer";
import http2 from "node:http2";
import { run } from "./child.ts";
import { GRPC_MESSAGE } from "./grpc_message.ts";
import { askFor } from "./host_request.ts";
import { requestsOf } from "./routes.ts";
import { environmentFor, urlOf } from "./target.ts";
import { TLS_CIPHER, TLS_GROUP, TLS_NAME, TLS_VERSION } from "./tls.ts";
import type { Case, Path, Target } from "./model.ts";

/** How long one answer may take, in ms. */
const PATIENCE = 10_000;

/** What each path answers. */
const BODIES: Readonly<Record<Exclude<Path, "/echo" | "/grpc" | "/events" | "/burst">, string>> = {
  "/small": "hello\n",
  "/1mib": "x".repeat(2 ** 20),
  "/chunked": "x".repeat(2 ** 16),
  // The backend says how many bytes came.
  "/upload": `${2 ** 20}\n`,
};

/** Throws where any answer is not what it must be. */
export async function verify(target: Target, what: Case): Promise<void> {
  if (target.tls !== null) await verifyTls(target, target.tls.authority);
  const { path } = what;
  if (path === "/echo") await verifyEcho(target, what);
  else if (path === "/grpc") await verifyCall(target, what);
  else if (path === "/events" || path === "/burst") await verifyEvent(target, what);
  else await verifyAnswer(target, what, BODIES[path]);
}

async function verifyAnswer(target: Target, what: Case, expected: string): Promise<void> {
  const [first] = requestsOf(what);
  if (first !== undefined) {
    const { status, body } = await askFor(target.address, first.host, first.path);
    return checkAnswer(status, body, expected);
  }
  using client = await clientFor(target, what);
  const response = await fetch(urlOf(target, what), {
    client,
    redirect: "manual",
    signal: AbortSignal.timeout(PATIENCE),
    ...(what.uploadBytes > 0 ? { method: "POST", body: "x".repeat(what.uploadBytes) } : {}),
  });
  checkAnswer(response.status, await response.text(), expected);
}

function checkAnswer(status: number, body: string, expected: string): void {
  if (status === 200 && body === expected) return;
  throw new Error(
    `answers ${status} with ${body.length} bytes (${JSON.stringify(body.slice(0, 80))})`,
  );
}

/** Speaks the version that the case asks for and no other. */
async function clientFor({ tls }: Target, { http }: Case): Promise<Deno.HttpClient> {
  const caCerts = tls === null ? [] : [await Deno.readTextFile(tls.authority)];
  return Deno.createHttpClient({ caCerts, http1: http === 1, http2: http === 2 });
}

async function verifyEvent(target: Target, what: Case): Promise<void> {
  using client = await clientFor(target, what);
  const signal = AbortSignal.timeout(PATIENCE);
  const response = await fetch(urlOf(target, what), { client, redirect: "manual", signal });
  const events = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
  for await (const text of events) {
    if (response.status === 200 && /^data: \d{16}\n\n/.test(text)) return;
    throw new Error(`answers ${response.status} with ${JSON.stringify(text.slice(0, 80))}`);
  }
  throw new Error(`answers ${response.status} without an event`);
}

/** A call that must end with its message and `grpc-status: 0` in the trailers. */
async function verifyCall(target: Target, what: Case): Promise<void> {
  const { origin, pathname } = new URL(urlOf(target, what));
  const session = http2.connect(origin);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error("no answer in time")), PATIENCE);
  session.on("error", reject);
  const stream = session.request({
    ...{ ":method": "POST", ":path": pathname },
    ...{ "content-type": "application/grpc", te: "trailers" },
  });
  const body: Uint8Array[] = [];
  let status: unknown;
  let trailers: unknown;
  stream.on("response", (head) => status = head[":status"]);
  stream.on("trailers", (fields) => trailers = fields["grpc-status"]);
  stream.on("data", (bytes: Uint8Array) => body.push(bytes));
  stream.on("error", reject);
  stream.on("end", resolve);
  stream.end(GRPC_MESSAGE);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    session.destroy();
  }
  const message = Buffer.concat(body);
  if (status !== 200 || trailers !== "0" || !message.equals(GRPC_MESSAGE)) {
    throw new Error(`answers ${status}, grpc-status ${trailers}, ${message.length} bytes`);
  }
}

/** A handshake by openssl, which says what was agreed on, and checks the certificate. */
async function verifyTls(target: Target, authority: string): Promise<void> {
  const said = await run([
    ...["openssl", "s_client", "-brief", "-verify_return_error", "-CAfile", authority],
    ...["-servername", TLS_NAME, "-verify_hostname", TLS_NAME],
    ...["-connect", `127.0.0.1:${target.address.port}`],
  ], environmentFor(target));
  const expected = [
    `Protocol version: ${TLS_VERSION}\n`,
    `Ciphersuite: ${TLS_CIPHER}\n`,
    `Server Temp Key: ${TLS_GROUP}, `,
    "Signature type: ECDSA\n",
    "Verification: OK\n",
  ];
  const missing = expected.filter((line) => !said.includes(line));
  if (missing.length > 0) throw new Error(`TLS without ${missing.join(", ")}: ${said}`);
}

async function verifyEcho(target: Target, what: Case): Promise<void> {
  const socket = new WebSocket(urlOf(target, what).replace(/^http/, "ws"));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error("no echo in time")), PATIENCE);
  const messages = ["hello", "x".repeat(100)];
  const received: unknown[] = [];
  socket.onopen = () => messages.forEach((message) => socket.send(message));
  socket.onmessage = ({ data }) => {
    received.push(data);
    if (received.length === messages.length) socket.close();
  };
  socket.onerror = (event) => {
    reject(new Error(event instanceof ErrorEvent ? event.message : "WebSocket failed"));
  };
  socket.onclose = () => resolve();
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
  if (JSON.stringify(received) !== JSON.stringify(messages)) {
    throw new Error(`echoes ${JSON.stringify(received)}`);
  }
}
