import assert from "node:assert/strict";
import { ProxyError } from "../errors.ts";
import { Cancellation } from "../http/cancellation.ts";
import { fieldsOf } from "../http/fields.ts";
import { type Body, BytesBody, NO_BODY } from "../http/body.ts";
import {
  type Exchange,
  ExchangeRecord,
  type Reply,
  RequestHead,
  ResponseHead,
} from "../http/message.ts";
import type { Filter } from "./filter.ts";
import { FilterChain } from "./filter_chain.ts";
import { FilteredExchange } from "./filtered_exchange.ts";

/** An exchange, and what it has been told to send. */
function scene(filters: readonly Filter[], payload: Uint8Array | null = null) {
  const request = new RequestHead();
  request.bodyLength = request.contentLength = payload?.length ?? 0;
  const sent: Reply[] = [];
  const exchange = {
    request,
    record: new ExchangeRecord(),
    payload,
    body: NO_BODY,
    added: fieldsOf([["X-Request-Id", "some-id"]]),
    cancellation: new Cancellation(),
    respond: (head: ResponseHead, body: Body) => {
      sent.push({ head, body });
    },
  } as unknown as Exchange;
  const filtered = new FilteredExchange(
    exchange,
    new FilterChain(filters.map((filter) => ({ kind: "access", filter })), filters),
  );
  return { exchange, filtered, sent };
}

function replyOf(status: number): Reply {
  const head = new ResponseHead();
  head.status = status;
  return { head, body: NO_BODY };
}

Deno.test("filters run in order, including asynchronous ones, and the first reply ends the chain", async () => {
  const asked: string[] = [];
  const filter = (name: string, reply: Reply | null, waits: boolean): Filter => {
    return {
      request: () => {
        asked.push(name);
        return waits ? Promise.resolve(reply) : reply;
      },
    };
  };
  for (const waits of [false, true]) {
    asked.length = 0;
    const chain = [filter("a", null, waits), filter("b", null, !waits)];
    assert.equal(await scene(chain).filtered.begin(), null);
    const reply = replyOf(403);
    const { filtered } = scene([...chain, filter("c", reply, waits), filter("d", null, false)]);
    assert.equal(await filtered.begin(), reply);
    assert.deepEqual(asked, ["a", "b", "a", "b", "c"]);
  }
});

Deno.test("synchronous filters create no promise", () => {
  const { filtered } = scene([{ request: () => null }]);
  assert.equal(filtered.begin(), null);
});

Deno.test("a response is changed in a copy: the connection's own head stays unmodified", async () => {
  const filter: Filter = {
    response: (_, head) => {
      head.status = 203;
      head.fields = fieldsOf([["x", "y"]]);
    },
    body: () => new BytesBody(new Uint8Array(2)),
  };
  const { filtered, sent } = scene([filter]);
  const { head } = replyOf(200);
  head.bodyLength = 3;
  const { fields } = head;
  await filtered.respond(head, new BytesBody(new Uint8Array(3)));
  assert.deepEqual([head.status, head.fields], [200, fields]);
  assert.equal(sent[0].head.status, 203);
  assert.equal((await sent[0].body.read())?.length, 2);
});

Deno.test("a body hook is not called for a response without a body", async () => {
  const { filtered, sent } = scene([{ body: () => assert.fail("asked") }]);
  const { head, body } = replyOf(204);
  await filtered.respond(head, body);
  assert.equal(sent[0].body, body);
});

Deno.test("a failing response hook sends nothing, and the error reply skips it", async () => {
  const broken: Filter = {
    response: () => {
      throw new Error("broken");
    },
  };
  const { filtered, sent } = scene([broken]);
  const { head, body } = replyOf(200);
  assert.throws(() => filtered.respond(head, body), ProxyError);
  assert.equal(sent.length, 0);
  const reply = replyOf(500);
  await filtered.respond(reply.head, reply.body);
  assert.equal(sent[0].head, reply.head);
});

Deno.test("a body that arrived with its head and is changed is still a payload, with its length", () => {
  const twice: Filter = {
    requestBody: (_, body) => {
      const parts: Uint8Array[] = [];
      for (let view = body.read(); view instanceof Uint8Array; view = body.read()) {
        parts.push(view.slice());
      }
      const [part] = parts;
      return new BytesBody(Uint8Array.of(...part, ...part));
    },
  };
  const { filtered, exchange } = scene([twice], Uint8Array.of(1, 2));
  assert.equal(filtered.begin(), null);
  assert.deepEqual([...filtered.payload!], [1, 2, 1, 2]);
  assert.deepEqual([filtered.request.bodyLength, filtered.request.contentLength], [4, 4]);
  assert.deepEqual([...exchange.payload!], [1, 2]);
});

Deno.test("fields added by a filter stay with their exchange", () => {
  const { filtered, exchange } = scene([{
    request: (x) => {
      x.added = fieldsOf([["x", "y"]]);
      return null;
    },
  }]);
  const { added } = exchange;
  filtered.begin();
  assert.equal(exchange.added, added);
  assert.notEqual(filtered.added, added);
});

Deno.test("end hooks are called once", () => {
  let ended = 0;
  const { filtered } = scene([{ end: () => ended++ }]);
  filtered.begin();
  filtered.end();
  assert.equal(ended, 1);
});
