/**
 * `deno task dev` as a browser sees it: headless Chromium loads a page of a sample backend through
 * the proxy, under the name that the Ingress has.
 */
import assert from "node:assert/strict";
import { dumpDom, findBrowser } from "./browser.ts";
import { DevTask } from "./dev_task.ts";

Deno.test("a browser shows the page of a sample backend under the Ingress's name", async () => {
  const browser = await findBrowser("a page of a sample backend");
  if (browser === null) return;
  await using dev = await DevTask.start("examples");
  // The demo certificate is signed by itself.
  const options = { authority: null };
  const page = await dumpDom(browser, `http://app.example.com:${dev.http}/a/page?x=1`, options);
  assert.match(page, /<h1>Sample backend (one|two)<\/h1>/);
  assert.match(page, /a pod of the Service <b>default\/web<\/b>/);
  assert.match(page, /<code>GET \/a\/page\?x=1<\/code>/);
  assert.ok(page.includes(`<td>app.example.com:${dev.http}</td>`), page);
  const api = await dumpDom(browser, `https://app.example.com:${dev.https}/api`, options);
  assert.match(api, /a pod of the Service <b>default\/api<\/b>/);
  assert.match(api, /<th>x-forwarded-proto<\/th><td>https<\/td>/);
});
