/**
 * A page over HTTP/2 as a browser loads it: many resources at once, an upload, cookies and a fetch
 * that is given up. In: headless Chromium, which trusts our authority alone. Out: all of it came by
 * h2 over one connection, whatever the backend speaks.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { canTrust, dumpDom, findBrowser } from "../e2e/browser.ts";
import { authority, NAME, startFront } from "./front.ts";
import { withFiles } from "./origin.ts";

const IMAGES = 100;
const UPLOAD = 3_000_000;

/** The page is loaded when its last image is, and that comes when the script has told all. */
const PAGE = `<!doctype html><title>page</title><p id="told"></p><img src="/late.svg"><script>
  async function load() {
    const told = {};
    const sizes = await Promise.all(Array.from({ length: ${IMAGES} }, async (_, i) => {
      const answer = await fetch("/part?i=" + i);
      return (await answer.arrayBuffer()).byteLength;
    }));
    told.sizes = sizes.every((size, i) => size === i * 1000);
    const upload = await fetch("/upload", { method: "POST", body: new Uint8Array(${UPLOAD}) });
    told.uploaded = Number(await upload.text());
    const control = new AbortController();
    const endless = await fetch("/endless", { signal: control.signal });
    await endless.body.getReader().read();
    control.abort();
    told.cookie = await (await fetch("/cookie")).text();
    const entries = performance.getEntriesByType("resource");
    const page = performance.getEntriesByType("navigation")[0];
    told.protocols = [...new Set([page, ...entries].map((one) => one.nextHopProtocol))];
    // A connection that had to be made takes time.
    told.connections = entries.filter((one) => one.connectEnd > one.connectStart).length;
    return told;
  }
  load().catch(String).then((told) => {
    document.getElementById("told").textContent = JSON.stringify(told);
    return fetch("/told");
  });
</script>`;

interface Told {
  readonly sizes: boolean;
  readonly uploaded: number;
  readonly cookie: string;
  readonly protocols: readonly string[];
  readonly connections: number;
}

/** Serves the page by HTTP/1.1 and, with prior knowledge, HTTP/2. */
function startPage() {
  const told = Promise.withResolvers<void>();
  const endless = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case "/part":
        return new Response(new Uint8Array(1000 * Number(searchParams.get("i"))));
      case "/upload":
        return new Response(String((await request.arrayBuffer()).byteLength));
      case "/endless":
        return new Response(
          new ReadableStream({
            pull: (controller) => controller.enqueue(new Uint8Array(10_000)),
            cancel: () => endless.resolve(),
          }),
        );
      case "/cookie":
        return new Response(request.headers.get("cookie"));
      case "/told":
        told.resolve();
        return new Response("");
      case "/late.svg":
        await told.promise;
        return new Response(null, { status: 404 });
      case "/":
        return new Response(PAGE, {
          headers: [
            ["content-type", "text/html"],
            ["set-cookie", "a=1"],
            ["set-cookie", "b=2"],
            ["set-cookie", "c=3"],
          ],
        });
      default:
        return new Response(null, { status: 404 });
    }
  });
  return { server, endless: endless.promise, giveUp: told.resolve };
}

Deno.test("a browser loads a page with a hundred resources over HTTP/2", async (t) => {
  const browser = await findBrowser(t.name);
  if (browser === null || !await canTrust(t.name)) return;
  for (const protocol of ["http", "h2c"] as const) {
    await t.step(`from a backend of ${protocol}`, async () => {
      const page = startPage();
      await using front = await startFront({ protocol, ports: [page.server.addr.port] });
      try {
        const document = await withFiles({ "ca.pem": authority.certificate }, (folder) => {
          const url = `https://${NAME}:${front.securePort}/`;
          return dumpDom(browser, url, { authority: join(folder, "ca.pem") });
        });
        const text = /<p id="told">(.*?)<\/p>/.exec(document)?.[1];
        assert.ok(text, document);
        const told: Told = JSON.parse(text.replaceAll("&quot;", '"'));
        assert.deepEqual(told, {
          sizes: true,
          uploaded: UPLOAD,
          cookie: "a=1; b=2; c=3",
          protocols: ["h2"],
          connections: 0,
        });
        await page.endless;
      } finally {
        page.giveUp();
        await page.server.shutdown();
      }
    });
  }
});
