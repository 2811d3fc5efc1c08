import assert from "node:assert/strict";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { Buffer } from "node:buffer";
import { field, fieldsOf, text } from "./protobuf.ts";
import { SampleBackends } from "./backend.ts";
import { frameMessage, MessageReader } from "./rpc.ts";

interface Answer {
  readonly fields: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly trailers: IncomingHttpHeaders;
}

/** Asks the first sample backend of a Service. */
async function ask(fields: Record<string, string>, body?: Uint8Array): Promise<Answer> {
  const samples = new SampleBackends();
  try {
    await samples.prepareHttp2(["shop/rpc"]);
    const [{ address, port }] = samples.http2EndpointsFor("shop", "rpc");
    const session = connect(`http://${address}:${port}`);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        const stream = session.request(fields);
        let head: IncomingHttpHeaders = {};
        let trailers: IncomingHttpHeaders = {};
        const parts: Uint8Array[] = [];
        stream.on("response", (fields) => head = fields);
        stream.on("trailers", (fields) => trailers = fields);
        stream.on("data", (part: Uint8Array) => parts.push(part));
        stream.on("end", () => resolve({ fields: head, body: Buffer.concat(parts), trailers }));
        stream.on("error", reject);
        session.on("error", reject);
        stream.end(body);
      });
    } finally {
      session.destroy();
    }
  } finally {
    await samples.close();
  }
}

function call(path: string, ...messages: readonly Uint8Array[]): Promise<Answer> {
  return ask(
    { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" },
    Buffer.concat(messages.map(frameMessage)),
  );
}

function messagesOf({ body }: Answer): (Uint8Array | null)[] {
  return [...new MessageReader().read(body)];
}

Deno.test("an HTTP/2 response has the pod, the Service and the received request", async () => {
  const { fields, body } = await ask({
    ":path": "/a?b=c",
    ":authority": "rpc.test",
    "x-mine": "y",
  });
  assert.equal(fields[":status"], 200);
  assert.equal(fields["x-sample-service"], "shop/rpc");
  const page = body.toString();
  assert.match(page, /^Sample backend one, in place of a pod of shop\/rpc\n\nGET \/a\?b=c\n/);
  assert.match(page, /\nhost: rpc\.test\n/);
  assert.match(page, /\nx-mine: y\n/);
});

Deno.test("a body posted with HTTP/2 is echoed unchanged", async () => {
  const sent = crypto.getRandomValues(new Uint8Array(50_000));
  const { fields, body } = await ask({ ":method": "POST", ":path": "/any" }, sent);
  assert.equal(fields["x-sample-backend"], "one");
  assert.deepEqual(new Uint8Array(body), sent);
});

Deno.test("messages of any gRPC method are echoed, with the status in trailers", async () => {
  const sent = [field(1, "first"), field(1, "x".repeat(30_000)), new Uint8Array(0)];
  const answer = await call("/shop.Orders/Watch", ...sent);
  assert.deepEqual(messagesOf(answer), sent);
  assert.equal(answer.fields["content-type"], "application/grpc");
  assert.equal(answer.trailers["grpc-status"], "0");
});

Deno.test("a gRPC health check finds the sample backend serving", async () => {
  const answer = await call("/grpc.health.v1.Health/Check", new Uint8Array(0));
  assert.deepEqual(messagesOf(answer), [new Uint8Array([8, 1])]);
  assert.equal(answer.trailers["grpc-status"], "0");
});

Deno.test("a compressed message to a method that must read it is rejected with the reason", async () => {
  const answer = await ask(
    {
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Check",
      "content-type": "application/grpc",
    },
    new Uint8Array([1, 0, 0, 0, 1, 9]),
  );
  assert.equal(answer.trailers["grpc-status"], "12");
});

Deno.test("reflection lists services, describes their files, and knows no others", async () => {
  const answer = await call(
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    field(7, ""),
    field(4, "grpc.health.v1.Health"),
    field(3, "sample.proto"),
    field(4, "shop.Orders"),
  );
  assert.equal(answer.trailers["grpc-status"], "0");
  const [list, health, sample, none] = messagesOf(answer).map((message) => partOf(message!));
  assert.equal(list.number, 6);
  const names = [...fieldsOf(list.value)].map(({ value }) => text(partOf(value).value));
  assert.deepEqual(names, ["grpc.health.v1.Health", "sample.Echo"]);
  for (
    const [described, file] of [[health, "grpc/health/v1/health.proto"], [
      sample,
      "sample.proto",
    ]] as const
  ) {
    assert.equal(described.number, 4);
    assert.equal(text(partOf(partOf(described.value).value, 1).value), file);
  }
  assert.equal(none.number, 7);
});

/** The last field of a message, or the one of that number. */
function partOf(message: number | Uint8Array, number?: number) {
  assert.ok(typeof message !== "number");
  const found = [...fieldsOf(message)].filter((one) =>
    number === undefined || one.number === number
  );
  const { value, ...rest } = found.at(-1)!;
  assert.ok(typeof value !== "number");
  return { ...rest, value };
}
