import assert from "node:assert/strict";
import { fieldsOf } from "../http/fields.ts";
import type { Exchange, RequestHead } from "../http/message.ts";
import { localReply } from "../forward/local_reply.ts";
import { NO_RIGHTS } from "../../shared/rights.ts";

Deno.test("an endless loop is ended in a worker without permissions, and later code runs", async () => {
  const worker = new Worker(new URL("../../tests/support/time_limit_worker.ts", import.meta.url), {
    type: "module",
    deno: { permissions: NO_RIGHTS },
  });
  const told = Promise.withResolvers<unknown>();
  worker.onmessage = ({ data }) => told.resolve(data);
  assert.deepEqual(await told.promise, {
    loop: null,
    expression: null,
    value: ["done"],
    thrown: "RangeError: its own",
  });
  worker.terminate();
});

/** An exchange with a head of so many bytes whose Accept, once asked for, is never found out. */
function endless(bytes: number): Exchange {
  const fields = fieldsOf([["X-Large", "x".repeat(bytes)], ["Accept", "application/json"]]);
  const { value } = fields;
  let asked = 0;
  fields.value = (index: number) => {
    while (index === 1 && ++asked > 0);
    return value.call(fields, index);
  };
  const request = { fields, bodyLength: 1 } as RequestHead;
  return { request, added: null, client: { trusted: false } } as Exchange;
}

Deno.test("a large head whose reply takes forever gets a reply that does not read it", () => {
  const { head } = localReply("no_route", endless(8 * 1024));
  assert.equal(head.status, 404);
  assert.equal(head.fields.value(0), "text/plain; charset=utf-8");
  assert.equal(head.closes, true);
});
