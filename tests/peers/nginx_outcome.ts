/**
 * What becomes of a request. In: the port of a proxy, a request, and what its backend has received. Out: status
 * and Location of the response, and the request as the backend got it.
 */
import { Peer, statusOf } from "../support/backend.ts";
import { headerOf } from "../support/wire_message.ts";

export interface Outcome {
  readonly status: number;
  readonly location: string | null;
  /** Request line, Host and X-Forwarded-Prefix; null where it got nothing. */
  readonly received: readonly string[] | null;
}

/** @param received Of the backend, as `recordingBackend` fills it. */
export async function outcome(port: number, request: string, received: string[]): Promise<Outcome> {
  received.length = 0;
  using client = await Peer.connect(port);
  const answer = await client.ask(request);
  const location = headerOf(answer.head, "Location");
  const [head = null] = received;
  if (head === null) return { status: statusOf(answer), location, received: null };
  const [line] = head.split("\r\n");
  const host = headerOf(head, "Host") ?? "";
  const prefix = headerOf(head, "X-Forwarded-Prefix") ?? "";
  return { status: statusOf(answer), location, received: [line, host, prefix] };
}
