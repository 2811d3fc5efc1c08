/**
 * `deno task dev` as a browser sees it: headless Chromium loads a page of a sample backend through
 * the proxy, under the name that the Ingress has.
 */
import assert from "node:assert/strict";
import { join } from "node:path";

const ROOT = join(import.meta.dirname!, "..", "..");

/** How long the browser or the program may take, in ms. */
const PATIENCE = 60_000;

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"];

/** The first of the browser's names that can be started; null where there is none. */
async function findBrowser(): Promise<string | null> {
  for (const program of PROGRAMS) {
    try {
      await new Deno.Command(program, { args: ["--version"], stdout: "null", stderr: "null" })
        .output();
      return program;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return null;
}

/** The ports that a running `deno task dev` prints. */
async function printedPorts(
  stream: ReadableStream<Uint8Array>,
): Promise<{ http: number; https: number }> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`it ended after:\n${text}`);
    text += value;
    const match = / http:\/\/127\.0\.0\.1:(\d+) and https:\/\/127\.0\.0\.1:(\d+), /.exec(text);
    if (match === null) continue;
    // What comes later is not read; a cancelled pipe is, for the program, a closed terminal.
    await reader.cancel();
    return { http: Number(match[1]), https: Number(match[2]) };
  }
}

/** The document of `url` once it is loaded, as the browser would serialise it. */
async function dumpDom(browser: string, url: string): Promise<string> {
  const profile = await Deno.makeTempDir();
  try {
    const { code, stdout, stderr } = await new Deno.Command(browser, {
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        `--user-data-dir=${profile}`,
        "--no-proxy-server",
        // The demo certificate is signed by itself.
        "--ignore-certificate-errors",
        "--host-resolver-rules=MAP *.example.com 127.0.0.1",
        "--dump-dom",
        url,
      ],
      signal: AbortSignal.timeout(PATIENCE),
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert.equal(code, 0, `${text}\n${new TextDecoder().decode(stderr)}`);
    return text;
  } finally {
    await Deno.remove(profile, { recursive: true });
  }
}

Deno.test("a browser shows the page of a sample backend under the Ingress's name", async () => {
  const browser = await findBrowser();
  if (browser === null) {
    const remedy = "no Chromium is installed; apt-get install chromium";
    if (Deno.env.get("CI") === "true") throw new Error(remedy);
    console.log(`skipped: ${remedy}`);
    return;
  }
  const dev = new Deno.Command(Deno.execPath(), {
    args: [
      "task",
      "-q",
      "dev",
      "examples",
      "--listen-http=127.0.0.1:0",
      "--listen-https=127.0.0.1:0",
      "--admin=127.0.0.1:0",
    ],
    cwd: ROOT,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  try {
    const { http, https } = await printedPorts(dev.stdout);
    const page = await dumpDom(browser, `http://app.example.com:${http}/a/page?x=1`);
    assert.match(page, /<h1>Sample backend (one|two)<\/h1>/);
    assert.match(page, /a pod of the Service <b>default\/web<\/b>/);
    assert.match(page, /<code>GET \/a\/page\?x=1<\/code>/);
    assert.ok(page.includes(`<td>app.example.com:${http}</td>`), page);
    const api = await dumpDom(browser, `https://app.example.com:${https}/api`);
    assert.match(api, /a pod of the Service <b>default\/api<\/b>/);
    assert.match(api, /<th>x-forwarded-proto<\/th><td>https<\/td>/);
  } finally {
    dev.kill("SIGTERM");
    await dev.status;
  }
});
