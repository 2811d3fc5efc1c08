/**
 * Counts the sockets that listen on a port of loopback. In: a port. Out: how many; on Linux alone.
 *
 * The kernel lists listening sockets before all others, and no more is read. A test that reads the whole
 * list in a loop, beside tests that leave 40,000 sockets in TIME_WAIT, stops its own event loop: a watch
 * for stuck workers took over 10 s for 40 beats of 50 ms.
 */

/** Fields of a line of /proc/net/tcp: place, local address, remote address, state. */
const LINE = /^ *\d+: (\S+) \S+ (\S+) /;
const LISTEN = "0A";

export function listeningSockets(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  let count = 0;
  for (const line of linesOf("/proc/net/tcp")) {
    const [, address, state] = LINE.exec(line) ?? [];
    if (state === undefined) continue; // The heading.
    if (state !== LISTEN) break;
    if (address === local) count++;
  }
  return count;
}

function* linesOf(path: string): Generator<string> {
  using file = Deno.openSync(path);
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(16 * 1024);
  let rest = "";
  for (let length; (length = file.readSync(buffer)) !== null;) {
    const lines = (rest + decoder.decode(buffer.subarray(0, length))).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}
