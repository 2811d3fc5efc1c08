/**
 * The client before both proxies. In: requests for one connection, in order. Out: what the client
 * sees of each answer, byte for byte.
 */
import type { CaseRequest } from "./requests.ts";
import { type Content, elementsOf, type Head, WireReader, writeAll } from "./wire.ts";

export interface Seen extends Head, Content {
  /** Interim answers, as heads. */
  readonly interim: readonly Head[];
  /** The proxy closed the connection behind this answer. */
  readonly closed: boolean;
}

/** How long a whole group may take, in ms. */
const PATIENCE = 20_000;

/** How a group is sent: one after another, or all at once whatever has been answered. */
export type Pace = "in turn" | "pipelined";

/**
 * Sends `group` and reads every answer. Only the last request may close the connection; answers that
 * close it before the group's end reject, and so does a group that is not answered in time.
 */
export async function converse(
  port: number,
  group: readonly CaseRequest[],
  pace: Pace,
): Promise<Seen[]> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  connection.setNoDelay(true);
  const patience = setTimeout(() => connection.close(), PATIENCE);
  try {
    const reader = new WireReader(connection);
    const seen: Seen[] = [];
    const sending = pace === "pipelined" ? send(connection, group) : Promise.resolve();
    // What breaks the writing breaks the reading, which tells of it.
    sending.catch(() => {});
    for (const request of group) {
      if (pace === "in turn") await writeAll(connection, request.head);
      if (pace === "in turn" && !request.expects) await writeAll(connection, request.body);
      const last = request === group.at(-1);
      const waiting = pace === "in turn" && request.expects;
      seen.push(await receive(connection, reader, request, { last, waiting }));
    }
    await sending;
    return seen;
  } finally {
    clearTimeout(patience);
    try {
      connection.close();
    } catch {
      // Out of patience: closed already.
    }
  }
}

async function send(connection: Deno.TcpConn, group: readonly CaseRequest[]): Promise<void> {
  for (const { head, body } of group) {
    await writeAll(connection, head);
    await writeAll(connection, body);
  }
}

async function receive(
  connection: Deno.TcpConn,
  reader: WireReader,
  request: CaseRequest,
  { last, waiting }: { last: boolean; waiting: boolean },
): Promise<Seen> {
  const interim: Head[] = [];
  for (;;) {
    const head = await reader.head();
    if (head === null) throw new Error(`case ${request.id}: closed without an answer`);
    const status = Number(head.line.split(" ")[1]);
    if (status < 200) {
      interim.push(head);
      if (status === 100 && waiting) await writeAll(connection, request.body);
      continue;
    }
    const bodyless = request.method === "HEAD" || status === 204 || status === 304;
    const content: Content = bodyless
      ? { framing: "none", body: "", trailers: [] }
      : await reader.content(head, true);
    const says = elementsOf(head.fields, "connection");
    const keeps = request.version === "HTTP/1.1"
      ? !says.includes("close")
      : says.includes("keep-alive");
    if (!keeps && !await reader.atEnd()) {
      throw new Error(`case ${request.id}: bytes behind the connection's last answer`);
    }
    if (!keeps && !last) throw new Error(`case ${request.id}: closed too early by ${head.line}`);
    return { ...head, ...content, interim, closed: !keeps };
  }
}
