/**
 * grpc-js of Node, which asks the interoperability suite's service behind the proxy. In: a folder in
 * which @grpc/grpc-js is installed, the proxy's address, and for TLS an authority's file and a name.
 * Out: a line of JSON for each check, with what was wrong.
 *
 * Messages are written by hand, as their schema says: the package alone knows none.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, address, ca, name] = process.argv.slice(2);
const grpc = createRequire(join(folder, "here.js"))("@grpc/grpc-js");

// Protocol Buffers: a number or bytes in a field.
function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 | 128);
  return Buffer.from([...bytes, value]);
}
const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const bytes = (field, value) =>
  Buffer.concat([varint(field << 3 | 2), varint(value.length), Buffer.from(value)]);
const message = (...fields) => Buffer.concat(fields);

/** A message's fields by number, bytes or numbers, of which the last holds. */
function fieldsOf(buffer) {
  const fields = {};
  let at = 0;
  const next = () => {
    let value = 0;
    for (let shift = 1;; shift *= 128) {
      const byte = buffer[at++];
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < buffer.length) {
    const tag = next();
    if ((tag & 7) === 0) fields[tag >> 3] = next();
    else {
      const length = next();
      fields[tag >> 3] = buffer.subarray(at, at += length);
    }
  }
  return fields;
}

const payload = (size) => bytes(2, Buffer.alloc(size, "x"));
const simple = (size, sent) => message(number(2, size), bytes(3, payload(sent)));
const sizes = (list, pause = 0) =>
  message(...list.map((size) => bytes(2, message(number(1, size), number(2, pause)))));
const sizeOf = (field, buffer) =>
  fieldsOf(fieldsOf(buffer)[field] ?? Buffer.alloc(0))[2]?.length ?? 0;

const same = (value) => value;
const method = (path, requestStream, responseStream) => ({
  path: `/grpc.testing.TestService/${path}`,
  requestStream,
  responseStream,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
});
const Client = grpc.makeGenericClientConstructor({
  unary: method("UnaryCall", false, false),
  missing: method("Missing", false, false),
  upload: method("StreamingInputCall", true, false),
  download: method("StreamingOutputCall", false, true),
  both: method("FullDuplexCall", true, true),
}, "TestService");

const credentials = ca
  ? grpc.credentials.createSsl(readFileSync(ca))
  : grpc.credentials.createInsecure();
const client = new Client(
  address,
  credentials,
  ca
    ? {
      "grpc.ssl_target_name_override": name,
      "grpc.default_authority": name,
    }
    : {},
);

function unary(request, metadata = new grpc.Metadata(), call = "unary") {
  return new Promise((resolve) => {
    let head;
    let status;
    let answer;
    const done = () => status && answer && resolve({ head, status, ...answer });
    const asked = client[call](
      request,
      metadata,
      { deadline: Date.now() + 20_000 },
      (error, value) => {
        answer = { error, value };
        done();
      },
    );
    asked.on("metadata", (received) => head = received);
    asked.on("status", (received) => {
      status = received;
      done();
    });
  });
}

/** The messages of a stream and how it ended. */
function collect(call) {
  return new Promise((resolve) => {
    const messages = [];
    call.on("data", (one) => messages.push(one));
    call.on("error", () => {});
    call.on("status", (status) => resolve({ messages, status }));
  });
}

function equal(actual, wanted) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${a}, not ${b}`);
}

const checks = {
  async "a unary call"() {
    const { error, value } = await unary(simple(314_159, 271_828));
    if (error) throw error;
    equal(sizeOf(1, value), 314_159);
  },
  async "a stream of requests"() {
    const answer = await new Promise((resolve, reject) => {
      const call = client.upload((error, value) => error ? reject(error) : resolve(value));
      for (const size of [27_182, 8, 1828, 45_904]) call.write(bytes(1, payload(size)));
      call.end();
    });
    equal(fieldsOf(answer)[1], 74_922);
  },
  async "a stream of answers"() {
    const { messages, status } = await collect(client.download(sizes([31_415, 9, 2653, 58_979])));
    equal([status.code, ...messages.map((one) => sizeOf(1, one))], [0, 31_415, 9, 2653, 58_979]);
  },
  async "a stream both ways, in turn"() {
    const call = client.both();
    const ended = collect(call);
    for (const size of [31_415, 9, 2653, 58_979]) {
      const answered = new Promise((resolve) => call.once("data", resolve));
      call.write(message(sizes([size]), bytes(3, payload(size))));
      equal(sizeOf(1, await answered), size);
    }
    call.end();
    equal((await ended).status.code, 0);
  },
  async "metadata both ways, and in trailers"() {
    const metadata = new grpc.Metadata();
    metadata.set("x-grpc-test-echo-initial", "test_initial");
    metadata.set("x-grpc-test-echo-trailing-bin", Buffer.from([0xab, 0, 0xff]));
    const { head, status } = await unary(simple(1, 1), metadata);
    equal(head.get("x-grpc-test-echo-initial"), ["test_initial"]);
    const [trailing] = status.metadata.get("x-grpc-test-echo-trailing-bin");
    equal([...trailing], [0xab, 0, 0xff]);
  },
  async "a status and its message"() {
    const text = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
    const { status } = await unary(bytes(7, message(number(1, 2), bytes(2, Buffer.from(text)))));
    equal([status.code, status.details], [2, text]);
  },
  async "a method that is not there"() {
    equal((await unary(simple(1, 1), undefined, "missing")).status.code, grpc.status.UNIMPLEMENTED);
  },
  async "a deadline that passes"() {
    const options = { deadline: Date.now() + 200 };
    const { status } = await collect(client.download(sizes([1], 30_000_000), options));
    equal(status.code, grpc.status.DEADLINE_EXCEEDED);
  },
  async "a call that is cancelled"() {
    const call = client.both();
    const ended = collect(call);
    call.write(message(sizes([10]), bytes(3, payload(10))));
    await new Promise((resolve) => call.once("data", resolve));
    call.cancel();
    equal((await ended).status.code, grpc.status.CANCELLED);
  },
  async "500 calls at a time, over both servers"() {
    const answers = await Promise.all(Array.from({ length: 500 }, (_, i) => unary(simple(i, i))));
    const servers = { one: 0, two: 0 };
    for (const [i, { error, value, head }] of answers.entries()) {
      if (error) throw error;
      equal(sizeOf(1, value), i);
      const [server] = head.get("x-server");
      servers[server]++;
    }
    // By request, though all came by one connection.
    equal(servers, { one: 250, two: 250 });
  },
};

for (const [check, run] of Object.entries(checks)) {
  let error = "";
  try {
    await run();
  } catch (thrown) {
    error = String(thrown);
  }
  console.log(JSON.stringify({ name: check, error }));
}
client.close();
