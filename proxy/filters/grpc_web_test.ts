import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Random } from "../../tests/fuzz/random.ts";
import { ProxyError } from "../errors.ts";
import { Cancellation } from "../http/cancellation.ts";
import { type Fields, fieldsOf } from "../http/fields.ts";
import { type Body, BytesBody, NO_BODY } from "../http/body.ts";
import {
  type Exchange,
  ExchangeRecord,
  RequestHead,
  ResponseHead,
  UNKNOWN_LENGTH,
} from "../http/message.ts";
import { localReply } from "../forward/local_reply.ts";
import { FilteredExchange } from "./filtered_exchange.ts";
import { NO_FILTERS } from "./registry.ts";

/** A body in parts; those that are strings come later than they are asked for. */
class PartsBody implements Body {
  readonly trailers: Fields | null;
  /** How many were asked for. */
  asked = 0;
  readonly #parts: (Uint8Array | string)[];

  constructor(parts: (Uint8Array | string)[], trailers: Fields | null = null) {
    this.#parts = parts;
    this.trailers = trailers;
  }

  get done(): boolean {
    return this.#parts.length === 0;
  }

  read(): ReturnType<Body["read"]> {
    this.asked++;
    const part = this.#parts.shift();
    if (part === undefined) return null;
    return typeof part === "string" ? Promise.resolve(bytesOf(part)) : part;
  }
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"));
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function base64(text: string): string {
  return Buffer.from(text, "latin1").toString("base64");
}

async function readAll(body: Body): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = [];
  for (let view = await body.read(); view !== null; view = await body.read()) {
    parts.push(view.slice());
  }
  assert.ok(body.done);
  return parts;
}

async function wholeOf(body: Body): Promise<string> {
  return (await readAll(body)).map(textOf).join("");
}

type Pairs = [string, string][];

interface Given {
  readonly method?: string;
  readonly type?: string;
  readonly fields?: Pairs;
  readonly payload?: string;
  readonly body?: Body;
}

/** What came of an exchange with a request of gRPC-Web. */
function scene({ method = "POST", type, fields = [], payload, body }: Given) {
  const request = Object.assign(new RequestHead(), { method, host: "a.test", path: "/s/m" });
  const types: Pairs = type === undefined ? [] : [["Content-Type", type]];
  Object.assign(request.fields, fieldsOf([["Grpc-Timeout", "1S"], ...types, ...fields]));
  request.bodyLength = request.contentLength = payload?.length ?? (body ? UNKNOWN_LENGTH : 0);
  const answers: { head: ResponseHead; body: Body }[] = [];
  const exchange = {
    request,
    record: new ExchangeRecord(),
    payload: payload === undefined ? null : bytesOf(payload),
    body: body ?? NO_BODY,
    client: { trusted: false },
    added: fieldsOf([["X-Request-Id", "some-id"]]),
    addedAuthority: "",
    addedMark: "",
    cancellation: new Cancellation(),
    get responded() {
      return answers.length > 0;
    },
    isOver: false,
    interim: () => {},
    respond: (head: ResponseHead, body: Body) => {
      answers.push({ head, body });
    },
    upgrade: () => Promise.reject(new Error("not asked for")),
  } as unknown as Exchange;
  const chain = NO_FILTERS.chainFor(request, true);
  if (chain === null || method === "OPTIONS") return { exchange, asked: exchange, answers };
  const asked = new FilteredExchange(exchange, chain);
  assert.equal(asked.begin(), null);
  return { exchange, asked, answers };
}

function pairsOf(fields: Fields): Pairs {
  return Array.from(
    { length: fields.count },
    (_, i) => [fields.name(i), fields.value(i)] as [string, string],
  );
}

function gotten(head: ResponseHead): Record<string, string> {
  return Object.fromEntries(
    pairsOf(head.fields).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function headOf(pairs: Pairs, bodyLength = UNKNOWN_LENGTH, status = 200): ResponseHead {
  const head = new ResponseHead();
  head.status = status;
  head.reason = "OK";
  head.fields = fieldsOf(pairs);
  head.bodyLength = bodyLength;
  return head;
}

const TYPES: readonly [string, string][] = [
  ["application/grpc-web", "application/grpc"],
  ["application/grpc-web+proto", "application/grpc+proto"],
  ["application/grpc-web+json", "application/grpc+json"],
  ["Application/gRPC-Web+proto; charset=utf-8", "application/grpc+proto; charset=utf-8"],
  ["application/grpc-web-text", "application/grpc"],
  ["application/grpc-web-text+proto", "application/grpc+proto"],
  ["application/grpc-web-text-base64", "application/grpc"],
];

for (const [type, wanted] of TYPES) {
  Deno.test(`a request of ${type} reaches the backend as ${wanted}`, () => {
    const { exchange, asked } = scene({ type });
    assert.notEqual(asked, exchange);
    assert.deepEqual(pairsOf(asked.request.fields), [
      ["Grpc-Timeout", "1S"],
      ["Content-Type", wanted],
    ]);
    assert.ok(asked.request.isGrpc && asked.request.acceptsTrailers);
  });
}

const OTHERS: Readonly<Record<string, Given>> = {
  "of gRPC": { type: "application/grpc+proto" },
  "of another type": { type: "application/grpc-webbing" },
  "without a type": {},
  "that is no POST": { type: "application/grpc-web", method: "OPTIONS" },
};

for (const [what, given] of Object.entries(OTHERS)) {
  Deno.test(`a request ${what} is forwarded unchanged`, () => {
    const { exchange, asked } = scene(given);
    assert.equal(asked, exchange);
    assert.equal(asked.request.isGrpc, false);
  });
}

Deno.test("calls on a translated exchange reach the exchange that it wraps", () => {
  const { exchange, asked } = scene({ type: "application/grpc-web" });
  const aborted: string[] = [];
  asked.cancellation.register(({ code }) => aborted.push(code));
  exchange.cancellation.cancel(new ProxyError("client_gone"));
  assert.deepEqual(aborted, ["client_gone"]);
  assert.equal(asked.added, exchange.added);
  assert.equal(asked.record, exchange.record);
  assert.deepEqual([asked.responded, asked.isOver], [false, false]);
});

Deno.test("a binary body is forwarded unchanged, with its length", () => {
  const whole = scene({ type: "application/grpc-web", payload: "\0\0\0\0\x01a" });
  assert.equal(whole.asked.payload, whole.exchange.payload);
  assert.equal(whole.asked.request.contentLength, 6);
  const body = new PartsBody(["ab"]);
  assert.equal(scene({ type: "application/grpc-web", body }).asked.body, body);
});

Deno.test("a text body that arrived with its head is decoded at once, and has the length of its bytes", () => {
  const message = "\0\0\0\0\x02\xffa";
  const { asked } = scene({
    type: "application/grpc-web-text",
    payload: base64(message.slice(0, 5)) + base64(message.slice(5)),
  });
  assert.equal(textOf(asked.payload!), message);
  assert.deepEqual([asked.request.bodyLength, asked.request.contentLength], [7, 7]);
  assert.ok(asked.body.done);
});

Deno.test("a text body is decoded as it arrives, however it is split and padded, without empty parts", async () => {
  const random = new Random(7);
  for (let i = 0; i < 300; i++) {
    const messages = Array.from(
      { length: random.between(1, 6) },
      () => "\0\0\0\0\x09message ".slice(0, random.between(1, 13)),
    );
    const text = messages.map(base64).join("");
    const parts: (Uint8Array | string)[] = [];
    for (let at = 0; at < text.length;) {
      const part = text.slice(at, at + random.between(1, 7));
      parts.push(random.oneIn(2) ? part : bytesOf(part));
      at += part.length;
    }
    const { asked } = scene({ type: "application/grpc-web-text", body: new PartsBody(parts) });
    assert.deepEqual([asked.request.bodyLength, asked.request.contentLength], [-1, -1]);
    assert.equal(asked.payload, null);
    const read = await readAll(asked.body);
    assert.ok(read.every(({ length }) => length > 0));
    assert.equal(read.map(textOf).join(""), messages.join(""));
  }
});

for (const text of ["AAA", "AA=A", "AAAA AAAA", "not base64!!"]) {
  for (
    const [how, given] of Object.entries({
      "with its head": { payload: text },
      "in one part": { body: new PartsBody([bytesOf(text)]) },
      "later": { body: new PartsBody([...text]) },
    })
  ) {
    Deno.test(`the text ${JSON.stringify(text)} that comes ${how} is rejected`, async () => {
      const { asked } = scene({ type: "application/grpc-web-text", ...given });
      assert.equal(asked.payload, null);
      assert.equal(asked.body.done, false);
      await assert.rejects(
        readAll(asked.body),
        (error) => error instanceof ProxyError && error.code === "bad_chunk",
      );
    });
  }
}

const HEAD: Pairs = [
  ["Content-Type", "application/grpc+proto"],
  ["Grpc-Encoding", "identity"],
  ["Trailer", "grpc-status"],
  ["Set-Cookie", "a=b"],
];
const TRAILERS = fieldsOf([["Grpc-Status", "0"], ["grpc-message", "all%20well"], [
  "x-bin",
  "AAE=",
]]);
const LINES = "grpc-status: 0\r\ngrpc-message: all%20well\r\nx-bin: AAE=\r\n";
const FRAME = `\x80\0\0\0${String.fromCharCode(LINES.length)}${LINES}`;

Deno.test("a response has its trailers as the last frame of its body", async () => {
  const { asked, answers } = scene({ type: "application/grpc-web+proto" });
  await asked.respond(headOf(HEAD), new PartsBody(["\0\0\0\0\x01a", bytesOf("b")], TRAILERS));
  const [{ head, body }] = answers;
  assert.deepEqual(pairsOf(head.fields), [
    ["Content-Type", "application/grpc-web+proto"],
    ["Grpc-Encoding", "identity"],
    ["Set-Cookie", "a=b"],
  ]);
  assert.deepEqual([head.status, head.bodyLength, head.contentLength], [200, -1, -1]);
  assert.equal(await wholeOf(body), `\0\0\0\0\x01ab${FRAME}`);
  assert.equal(body.trailers, null);
});

Deno.test("a text response is encoded part by part", async () => {
  const { asked, answers } = scene({ type: "application/grpc-web-text+proto" });
  const parts = ["\0\0\0\0\x01", bytesOf("ab"), "a much longer part"];
  await asked.respond(headOf(HEAD), new PartsBody(parts, TRAILERS));
  const [{ head, body }] = answers;
  assert.equal(gotten(head)["content-type"], "application/grpc-web-text+proto");
  assert.deepEqual((await readAll(body)).map(textOf), [
    base64("\0\0\0\0\x01"),
    base64("ab"),
    base64("a much longer part"),
    base64(FRAME),
  ]);
});

Deno.test("a response's parts are read one by one, on demand", async () => {
  const { asked, answers } = scene({ type: "application/grpc-web-text" });
  const from = new PartsBody(["a", "b", "c"], TRAILERS);
  await asked.respond(headOf(HEAD), from);
  assert.equal(from.asked, 0);
  await answers[0].body.read();
  await answers[0].body.read();
  assert.equal(from.asked, 2);
});

Deno.test("Accept selects the encoding of the response", async () => {
  const codings: readonly [string, string, string][] = [
    ["application/grpc-web", "application/grpc-web-text", "application/grpc-web-text+proto"],
    ["application/grpc-web-text", "application/grpc-web+proto", "application/grpc-web+proto"],
    ["application/grpc-web-text", "*/*", "application/grpc-web-text+proto"],
    [
      "application/grpc-web",
      "text/html, application/grpc-web-text;q=1",
      "application/grpc-web-text+proto",
    ],
  ];
  for (const [type, accept, wanted] of codings) {
    const { asked, answers } = scene({ type, fields: [["Accept", accept]] });
    await asked.respond(headOf(HEAD), new PartsBody(["a"], TRAILERS));
    assert.equal(gotten(answers[0].head)["content-type"], wanted);
  }
});

Deno.test("a response without a body has its status in the head", async () => {
  const { asked, answers } = scene({ type: "application/grpc-web-text" });
  const pairs: Pairs = [["content-type", "application/grpc"], ["grpc-status", "5"]];
  await asked.respond(headOf(pairs, 0), NO_BODY);
  const [{ head, body }] = answers;
  assert.equal(gotten(head)["grpc-status"], "5");
  assert.equal(gotten(head)["content-type"], "application/grpc-web-text");
  assert.deepEqual([head.bodyLength, head.contentLength], [0, 0]);
  assert.deepEqual(await readAll(body), []);
});

Deno.test("a local reply for an error has no body", async () => {
  const { asked, answers } = scene({ type: "application/grpc-web+proto" });
  const { head, body } = localReply("no_endpoint", asked);
  await asked.respond(head, body);
  assert.deepEqual(gotten(answers[0].head), {
    "content-type": "application/grpc-web",
    "grpc-status": "14",
    "grpc-message": "No backend is ready",
    "x-request-id": "some-id",
  });
});

Deno.test("a response that is not gRPC is forwarded unchanged", async () => {
  const { asked, answers } = scene({ type: "application/grpc-web-text" });
  const head = headOf([["Content-Type", "text/html"]], 3, 502);
  const body = new BytesBody(bytesOf("bad"));
  await asked.respond(head, body);
  assert.deepEqual(answers[0].head, head);
  assert.equal(answers[0].body, body);
});

Deno.test("an aborted response has no last frame", async () => {
  for (const type of ["application/grpc-web", "application/grpc-web-text"]) {
    const { asked, answers } = scene({ type });
    const broken = {
      read: () => Promise.reject(new ProxyError("upstream_closed")),
      done: false,
      trailers: TRAILERS,
    };
    await asked.respond(headOf(HEAD), broken);
    const { body } = answers[0];
    await assert.rejects(async () => await body.read(), ProxyError);
    assert.equal(body.done, false);
  }
});
