/** Which requests are sent again after which failures; what an attempt costs is in the integration tests. */
import assert from "node:assert/strict";
import { ProxyError } from "../errors.ts";
import type { Body } from "../http/body.ts";
import type { Exchange, RetryReason, UpstreamExchange } from "../http/message.ts";
import { BytesBody, NO_BODY } from "../http/body.ts";
import { RequestHead, UNKNOWN_LENGTH } from "../http/message.ts";
import { isBlameless, replayBody, RetryState } from "./retry.ts";
import type { HttpEndpoint } from "../route/route.ts";

const BYTES = new Uint8Array([1, 2, 3]);
const CLOSED = new ProxyError("upstream_closed");
const REFUSED = new ProxyError("connect_failed", "refused", {
  cause: new Deno.errors.ConnectionRefused(),
});
const UNREACHABLE = new ProxyError("connect_failed", "no answer in 3000 ms");

const endpoint = (sharing: boolean | null = false) => ({ sharing }) as unknown as HttpEndpoint;

const call = (retry: RetryReason | null) => ({ retry }) as unknown as UpstreamExchange;

/** The policy of routes that say nothing. */
const TWO = { tries: 2, retry: null };

interface Sent {
  readonly method?: string;
  /** How the body stands when the attempt has failed. */
  readonly body?: "none" | "payload" | "being sent" | "kept" | "sent";
  readonly upgrade?: string;
}

function exchangeOf({ method = "GET", body = "none", upgrade = "" }: Sent): Exchange {
  const request = new RequestHead();
  request.method = method;
  request.upgrade = upgrade;
  request.bodyLength = body === "none" ? 0 : BYTES.length;
  const payload = body === "payload" ? BYTES : null;
  const pulled: Body = body === "none" || body === "payload" ? NO_BODY : new BytesBody(BYTES);
  return { request, payload, body: pulled } as unknown as Exchange;
}

/** Whether the request is sent again after a first attempt that reached the backend. */
function isSentAgain(sent: Sent, retry: RetryReason | null): boolean {
  const exchange = exchangeOf(sent);
  const asked = endpoint(sent.body === "kept");
  const replay = replayBody(exchange, asked, TWO);
  assert.equal(replay !== null, sent.body === "kept");
  if (sent.body === "sent") { while (!exchange.body.done) exchange.body.read(); }
  return new RetryState(TWO).allows(exchange, {
    endpoint: asked,
    call: call(retry),
    failure: CLOSED,
    replay,
  });
}

const REASONS: readonly (RetryReason | null)[] = [
  null,
  "closed",
  "closed_idle",
  "unprocessed",
  "refused",
];

/** What is sent, and after which reasons it is sent again. */
const ROWS: readonly [name: string, sent: Sent, again: readonly RetryReason[]][] = [
  ...["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].map((method): (typeof ROWS)[number] => [
    method,
    { method },
    ["closed", "closed_idle", "unprocessed", "refused"],
  ]),
  ...["POST", "PATCH", "PROPFIND"].map((method): (typeof ROWS)[number] => [
    method,
    { method },
    ["unprocessed", "refused"],
  ]),
  ["PUT, its body at hand", { method: "PUT", body: "payload" }, [
    "closed",
    "closed_idle",
    "unprocessed",
    "refused",
  ]],
  ["PUT, its body kept", { method: "PUT", body: "kept" }, [
    "closed",
    "closed_idle",
    "unprocessed",
    "refused",
  ]],
  ["PUT, its body being sent", { method: "PUT", body: "being sent" }, []],
  ["PUT, its body sent", { method: "PUT", body: "sent" }, []],
  ["POST, its body at hand", { method: "POST", body: "payload" }, ["unprocessed", "refused"]],
  ["POST, its body kept", { method: "POST", body: "kept" }, ["unprocessed", "refused"]],
  ["POST, its body being sent", { method: "POST", body: "being sent" }, []],
  ["GET for a WebSocket", { upgrade: "websocket", body: "being sent" }, [
    "closed",
    "closed_idle",
    "unprocessed",
    "refused",
  ]],
];

for (const [name, sent, again] of ROWS) {
  Deno.test(`${name}: retried after ${again.join(", ") || "nothing"}`, () => {
    const found = REASONS.filter((reason) => isSentAgain(sent, reason));
    assert.deepEqual(found, again);
  });
}

Deno.test("POST that turned out to have no body: retried after unprocessed, refused", () => {
  const exchange = exchangeOf({ method: "POST" });
  exchange.request.bodyLength = UNKNOWN_LENGTH;
  const replay = replayBody(exchange, endpoint(), TWO);
  const found = REASONS.filter((reason) =>
    new RetryState(TWO).allows(exchange, {
      endpoint: endpoint(),
      call: call(reason),
      failure: CLOSED,
      replay,
    })
  );
  assert.deepEqual(found, ["unprocessed", "refused"]);
});

Deno.test("only an endpoint that may have processed a request is charged with its failure", () => {
  const blameless = REASONS.filter((reason) => isBlameless(call(reason)));
  assert.deepEqual(blameless, ["closed_idle", "unprocessed", "refused"]);
});

/** A request that fails by turns, and what is known after each: tries that the budget pays. */
function failures(tries: number, ...turns: readonly (RetryReason | ProxyError)[]) {
  const retries = new RetryState({ tries, retry: null });
  const exchange = exchangeOf({});
  return turns.map((turn) => {
    const allowed = turn instanceof ProxyError
      ? retries.allows(exchange, { endpoint: endpoint(), call: null, failure: turn, replay: null })
      : retries.allows(exchange, {
        endpoint: endpoint(),
        call: call(turn),
        failure: CLOSED,
        replay: null,
      });
    const { avoidsIdle, needsBudget, tried } = retries;
    return `${allowed ? "again" : "no"}${avoidsIdle ? " anew" : ""}${needsBudget ? " paid" : ""} ${
      tried?.length ?? 0
    }`;
  });
}

Deno.test("a connection closed as idle costs the endpoint nothing, once", () => {
  assert.deepEqual(failures(2, "closed_idle", "closed"), [
    "again anew paid 0",
    "again anew paid 1",
  ]);
  assert.deepEqual(failures(2, "closed_idle", "closed_idle", "closed_idle"), [
    "again anew paid 0",
    "again anew paid 1",
    "no anew paid 2",
  ]);
  assert.deepEqual(failures(1, "closed_idle", "closed"), ["again anew paid 0", "no anew paid 1"]);
});

Deno.test("a request that was not started is retried outside of the budget, once", () => {
  assert.deepEqual(failures(2, "unprocessed", "unprocessed"), [
    "again anew 0",
    "again anew paid 1",
  ]);
  assert.deepEqual(failures(2, "refused"), ["again anew paid 0"]);
});

Deno.test("each failure that the endpoint may have caused uses up a try", () => {
  assert.deepEqual(failures(1, "closed"), ["no paid 1"]);
  assert.deepEqual(failures(3, "closed", UNREACHABLE, "closed"), [
    "again paid 1",
    "again paid 2",
    "no paid 3",
  ]);
});

Deno.test("sixteen refused connections use up no try, the next one does; with one try none is free", () => {
  const refused = Array.from({ length: 18 }, () => REFUSED);
  assert.deepEqual(failures(2, ...refused), [
    ...Array.from({ length: 16 }, (_, i) => `again ${i + 1}`),
    "again paid 17",
    "no paid 18",
  ]);
  assert.deepEqual(failures(1, REFUSED), ["no paid 1"]);
});

Deno.test("other endpoints start over, except for the connection closed as idle", () => {
  const retries = new RetryState(TWO);
  const failed = { endpoint: endpoint(), failure: CLOSED, replay: null };
  assert.equal(retries.allows(exchangeOf({}), { ...failed, call: call("closed_idle") }), true);
  assert.equal(retries.allows(exchangeOf({}), { ...failed, call: call("closed") }), true);
  retries.reset();
  assert.deepEqual([retries.failure, retries.tried], [null, null]);
  assert.deepEqual([retries.avoidsIdle, retries.needsBudget], [true, false]);
});
