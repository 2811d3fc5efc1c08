/** The forms of a local reply: which clients get text, JSON, or a page. */
import assert from "node:assert/strict";
import { fieldsOf } from "../http/fields.ts";
import { type Exchange, RequestHead } from "../http/message.ts";
import { localReply } from "./local_reply.ts";

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

function exchangeOf(accept: string): Exchange {
  const request = Object.assign(new RequestHead(), { method: "GET", host: "a.test", path: "/" });
  Object.assign(request.fields, fieldsOf([["Accept", accept]]));
  const added = fieldsOf([["X-Request-Id", "some-id"]]);
  return { request, client: { trusted: false }, added } as unknown as Exchange;
}

function replyTo(accept: string, page?: () => string | null): [string, string | null, string] {
  const { head, body } = localReply("no_route", exchangeOf(accept), null, page);
  return [
    head.fields.joined("content-type")!,
    head.fields.joined("content-security-policy"),
    new TextDecoder().decode(body.read() as Uint8Array),
  ];
}

Deno.test("a browser gets plain text, unless the process has pages", () => {
  const [type, policy, text] = replyTo(BROWSER);
  assert.deepEqual([type, policy], ["text/plain; charset=utf-8", null]);
  assert.match(text, /^404 Not Found: /);
});

Deno.test("a page is HTML that may fetch and run nothing", () => {
  const [type, policy, text] = replyTo(BROWSER, () => "<p>page");
  assert.equal(type, "text/html; charset=utf-8");
  assert.match(policy ?? "", /^default-src 'none'; /);
  assert.equal(text, "<p>page");
});

Deno.test("a client that prefers JSON, or has no page, gets what it gets without pages", () => {
  assert.equal(replyTo("application/json", () => "<p>page")[0], "application/json");
  assert.equal(replyTo(BROWSER, () => null)[0], "text/plain; charset=utf-8");
});
