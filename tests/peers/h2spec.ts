/**
 * h2spec, the conformance tests of HTTP/2 and HPACK. In: a server's port. Out: how many of its cases
 * passed, and each that did not by section and title.
 */
import { join } from "node:path";
import { type Peer, reply } from "../support/backend.ts";

/** All that h2spec 2.6.0 has in its strict mode. */
export const CASES = 147;

/** How long a whole run may take, in ms. */
const PATIENCE = 240_000;

/**
 * How long h2spec waits for a connection, and for frames, in s: some cases wait in vain. Where a
 * connection takes longer, as on a busy machine, it ends without a report, and is run with the next one.
 */
const TIMEOUTS = [1, 5];

export interface H2specResult {
  readonly count: number;
  readonly passed: number;
  /** `http2/6.7 PING: Sends a PING frame with ACK: not PING Frame …, but Connection closed`. */
  readonly failed: readonly string[];
}

/** Runs every case, or those of `section` (`http2/6.9`), against a server on 127.0.0.1. */
export async function runH2spec(
  program: string,
  port: number,
  { tls, section }: { readonly tls: boolean; readonly section?: string },
): Promise<H2specResult> {
  const folder = await Deno.makeTempDir({ prefix: "h2spec-" });
  const report = join(folder, "report.xml");
  const run = (timeout: number) =>
    new Deno.Command(program, {
      args: [
        ...(section === undefined ? [] : [section]),
        ...["--strict", "--timeout", String(timeout), "--host", "127.0.0.1"],
        ...["--port", String(port), "--junit-report", report],
        ...(tls ? ["--tls", "--insecure"] : []),
      ],
      stdin: "null",
      signal: AbortSignal.timeout(PATIENCE),
    }).output();
  // What a server sent stands in it as it came: not all of it is UTF-8.
  const read = () =>
    Deno.readFile(report).then((bytes) => new TextDecoder().decode(bytes)).catch(() => "");
  try {
    let said = "";
    for (const timeout of TIMEOUTS) {
      const { stdout, stderr } = await run(timeout);
      const xml = await read();
      if (xml !== "") return resultIn(xml);
      const decoder = new TextDecoder();
      said = `${decoder.decode(stderr)}${decoder.decode(stdout).slice(-2_000)}`;
    }
    throw new Error(`h2spec: ${said}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Reads h2spec's report in the form of JUnit. */
export function resultIn(xml: string): H2specResult {
  const failed: string[] = [];
  let count = 0;
  for (const [, title, section, cases] of xml.matchAll(SUITE)) {
    for (const [, name, content] of cases.matchAll(CASE)) {
      count++;
      if (content === "") continue;
      const what = SKIPPED.test(content) ? "skipped" : oneLine(content);
      // A title begins with its number again: `6.9.1. The Flow-Control Window`.
      const topic = decode(title.replace(/^[\d.]+ /, ""));
      failed.push(`${section} ${topic}: ${decode(name)}: ${what}`);
    }
  }
  return { count, passed: count - failed.length, failed };
}

const SUITE = /<testsuite name="([^"]*)" package="([^"]*)"[^>]*>(.*?)<\/testsuite>/gs;
const CASE = /<testcase package="[^"]*" classname="([^"]*)"[^>]*>(.*?)<\/testcase>/gs;
/** The server does not show what this case is about. */
const SKIPPED = /<skipped>/;

/** What would have been right, a line each, and in the last what came. */
function oneLine(content: string): string {
  const lines = decode(content.replaceAll(/<\/?(error|failure)>/g, "")).trim().split("\n");
  const came = lines.pop();
  return `not ${lines.map((line) => line.trim()).join(", or ")}, but ${came?.trim()}`;
}

function decode(text: string): string {
  return text.replaceAll("&#xA;", "\n").replaceAll("&#34;", '"').replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** How long the backend takes, in ms: one case wants more streams open at a time than are allowed. */
const PAUSE = 30;

/** The backend: cases about flow control want an answer of more than a few bytes. */
export async function playPage(peer: Peer): Promise<void> {
  for (;;) {
    const request = await peer.request();
    if (request === null) return;
    await new Promise((resume) => setTimeout(resume, PAUSE));
    const isHead = request.head.startsWith("HEAD ");
    const page = reply("Some bytes for windows.\n");
    await peer.send(isHead ? page.slice(0, page.indexOf("\r\n\r\n") + 4) : page);
  }
}
