/**
 * One HTTP request to a port of a pod's loopback, through the API server and the kubelet, as `kubectl
 * port-forward` makes it. In: credentials and a request. Out: the answer, or how it failed, as a value.
 *
 * Not by the subresource `proxy`: it dials the pod's address, where NetworkPolicies deny the admin ports and the
 * pages about users' objects are not served. The WebSocket is that of `ws`: the class PortForward of
 * `@kubernetes/client-node` has no deadline, and does not say why the API server refuses.
 *
 *     pods/portforward ─▶ WebSocket, v4.channel.k8s.io: binary messages, of which the first byte is a channel
 *                         0: data, 1: an error as text; each begins with the port in two bytes
 */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type RawData, WebSocket } from "ws";
import { garbled, readAnswer } from "../../controller/kube/answer.ts";
import type { Credentials } from "../../controller/kube/credentials.ts";
import { requestPath } from "../../controller/kube/request_path.ts";
import { ABORTED, type ApiError, type ApiResult, PODS } from "../../controller/kube/types.ts";
import { VERSION } from "../../shared/version.ts";
import { parsePodAnswer } from "./pod_answer.ts";
import type { PodAnswer, PodRequest } from "./messages.ts";

const PROTOCOL = "v4.channel.k8s.io";

const DATA = 0;
const ERROR = 1;

/** Bytes before the data of a channel's first message: the port. */
const PORT_BYTES = 2;

/** Bytes of one answer; a snapshot of 10,000 routes has a tenth of it. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Bytes up to which each message may be the last. */
const EAGER_BYTES = 16 * 1024;

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Bytes of the API server's refusal that are read. */
const MAX_REFUSAL = 64 * 1024;

/** Needs the verbs get and create on pods/portforward: Kubernetes 1.35 and newer check both. */
export async function getFromPod(
  credentials: Credentials,
  request: PodRequest,
  signal: AbortSignal,
): Promise<ApiResult<PodAnswer>> {
  let access;
  try {
    access = await credentials.current();
  } catch (error) {
    return failed(unreachable(`credentials cannot be read: ${messageOf(error)}`));
  }
  if (signal.aborted) return failed(aborted());
  const { namespace, pod, port } = request;
  const path = requestPath(PODS, namespace, pod, { ports: String(port) }, "portforward");
  const { server } = credentials;
  const url = `wss://${server.host}${server.pathname.replace(/\/$/, "")}${path}`;
  const socket = new WebSocket(url, [PROTOCOL], {
    // A connection of its own: Deno may lose an upgrade on one that was used before.
    ...access.tls,
    headers: { ...access.headers, "user-agent": `pingress/${VERSION}` },
    perMessageDeflate: false,
    maxPayload: MAX_BYTES,
  });
  const { promise, resolve } = Promise.withResolvers<ApiResult<PodAnswer>>();
  const onAbort = () => resolve(failed(aborted()));
  signal.addEventListener("abort", onAbort);
  follow(socket, request, resolve);
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", onAbort);
    // What comes after that is nobody's.
    socket.on("error", () => {});
    socket.terminate();
  }
}

function follow(
  socket: WebSocket,
  { port, path }: PodRequest,
  settle: (result: ApiResult<PodAnswer>) => void,
): void {
  const received: Buffer[] = [];
  let bytes = 0;
  const isOpen = [false, false];
  socket.on("unexpected-response", (_, response: IncomingMessage) => {
    readRefusal(response).then((error) => settle(failed(error)));
  });
  socket.on("error", (error) => settle(failed(unreachable(error.message))));
  socket.on("open", () => {
    const head = `GET ${path} HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n` +
      "connection: close\r\n\r\n";
    socket.send(Buffer.concat([Buffer.of(DATA), Buffer.from(head, "latin1")]));
  });
  socket.on("message", (data: RawData) => {
    const message = data as Buffer;
    const channel = message[0];
    if (channel !== DATA && channel !== ERROR) return;
    const content = message.subarray(isOpen[channel] ? 1 : 1 + PORT_BYTES);
    isOpen[channel] = true;
    if (content.length === 0) return;
    if (channel === ERROR) {
      return settle(failed(unreachable(`port ${port}: ${content.toString("utf8").trim()}`)));
    }
    received.push(content);
    bytes += content.length;
    if (bytes > MAX_BYTES) settle(failed(garbled(`an answer of more than ${MAX_BYTES} bytes`)));
    // Kubelets take a second to close after the pod has. A large answer is put together once.
    if (bytes > EAGER_BYTES && !content.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK)) return;
    const answer = parsePodAnswer(Buffer.concat(received), false);
    if (answer !== null) settle({ ok: true, value: answer });
  });
  socket.on("close", () => {
    const answer = parsePodAnswer(Buffer.concat(received), true);
    settle(
      answer === null
        ? failed(unreachable(`port ${port} has closed the connection without an answer`))
        : { ok: true, value: answer },
    );
  });
}

/** What the API server says in place of an upgrade: a Status object. */
function readRefusal(response: IncomingMessage): Promise<ApiError> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { promise, resolve } = Promise.withResolvers<ApiError>();
  const done = () => {
    const status = response.statusCode ?? 0;
    const body = Buffer.concat(chunks).toString("utf8");
    const answer = readAnswer({ status, retryAfter: null, body, bytes });
    resolve(answer.ok ? garbled("the API server did not switch to WebSocket") : answer.error);
  };
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= MAX_REFUSAL) chunks.push(chunk);
  });
  response.on("end", done);
  response.on("error", done);
  return promise;
}

function failed(error: ApiError): { readonly ok: false; readonly error: ApiError } {
  return { ok: false, error };
}

function unreachable(message: string): ApiError {
  return { code: 0, reason: "Unreachable", message, retryAfter: null };
}

function aborted(): ApiError {
  return { code: 0, reason: ABORTED, message: "the call was given up", retryAfter: null };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
