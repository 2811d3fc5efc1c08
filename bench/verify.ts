/**
 * Whether a proxy does what is measured; a benchmark of error pages is worth nothing. In: a target
 * and a case. Out: nothing, or an error that says what was wrong. Its clients are not those that
 * make the load: fetch, Deno's WebSocket, openssl.
 */
import { type Case } from "./case.ts";
import { run } from "./child.ts";
import { environmentFor, type Target, urlOf } from "./target.ts";
import { TLS_CIPHER, TLS_GROUP, TLS_NAME, TLS_VERSION } from "./tls.ts";

/** How long one answer may take, in ms. */
const PATIENCE = 10_000;

/** What each path answers. */
const BODIES: Readonly<Record<Exclude<Case["path"], "/echo">, string>> = {
  "/small": "hello\n",
  "/1mib": "x".repeat(2 ** 20),
  // The backend says how many bytes came.
  "/upload": `${2 ** 20}\n`,
};

/** Throws where any answer is not what it must be. */
export async function verify(target: Target, what: Case): Promise<void> {
  if (target.tls !== null) await verifyTls(target, target.tls.authority);
  if (what.path === "/echo") await verifyEcho(target, what);
  else await verifyAnswer(target, what, BODIES[what.path]);
}

async function verifyAnswer(target: Target, what: Case, expected: string): Promise<void> {
  const { tls } = target;
  const caCerts = tls === null ? [] : [await Deno.readTextFile(tls.authority)];
  using client = Deno.createHttpClient({ caCerts, http2: false });
  const response = await fetch(urlOf(target, what), {
    client,
    redirect: "manual",
    signal: AbortSignal.timeout(PATIENCE),
    ...(what.uploadBytes > 0 ? { method: "POST", body: "x".repeat(what.uploadBytes) } : {}),
  });
  const body = await response.text();
  if (response.status !== 200 || body !== expected) {
    throw new Error(
      `answers ${response.status} with ${body.length} bytes (${JSON.stringify(body.slice(0, 80))})`,
    );
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
