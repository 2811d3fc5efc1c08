import assert from "node:assert/strict";
import { judge } from "./disagreement.ts";
import { bytesOf } from "../support/latin1.ts";
import type { ParsedStream } from "./parsed.ts";
import type { PeerName, PeerParser } from "./peer.ts";
import { parseStream } from "./request_stream.ts";

/** A peer that reads as we do, but for what `change` makes of it. */
function peer(name: PeerName, change: (stream: ParsedStream) => ParsedStream): PeerParser {
  return {
    name,
    async parse(streams) {
      const results: ParsedStream[] = [];
      for (const stream of streams) results.push(change(await parseStream(stream)));
      return results;
    },
  };
}

const alike = (stream: ParsedStream) => stream;
const refuses = (detail: string) => (): ParsedStream => ({
  requests: [],
  outcome: "rejected",
  detail,
});

const TWO = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" +
  "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n";

async function disagreements(text: string, ...peers: readonly PeerParser[]): Promise<string[]> {
  const stream = bytesOf(text);
  const [judgement] = await judge(peers, [stream], [await parseStream(stream)]);
  return [...judgement.disagreements];
}

Deno.test("peers with our framing agree", async () => {
  assert.deepEqual(await disagreements(TWO, peer("llhttp", alike), peer("go", alike)), []);
});

const CHANGES: Record<string, (stream: ParsedStream) => ParsedStream> = {
  "the end": (stream) => ({
    ...stream,
    requests: stream.requests.map((request) => ({ ...request, end: request.end + 1 })),
  }),
  "the body": (stream) => ({
    ...stream,
    requests: stream.requests.map((request) => ({ ...request, body: `${request.body}x` })),
  }),
  "the method": (stream) => ({
    ...stream,
    requests: stream.requests.map((request) => ({ ...request, method: "PUT" })),
  }),
  "the target": (stream) => ({
    ...stream,
    requests: stream.requests.map((request) => ({ ...request, target: "/x" })),
  }),
  "the fields": (stream) => ({
    ...stream,
    requests: stream.requests.map((request) => ({ ...request, fields: [] })),
  }),
  "request 2: incomplete": (stream) => ({
    requests: stream.requests.slice(0, 1),
    outcome: "incomplete",
    detail: "",
  }),
};

for (const [part, change] of Object.entries(CHANGES)) {
  Deno.test(`a peer that differs in ${part} disagrees, even beside one that does not`, async () => {
    const found = await disagreements(TWO, peer("llhttp", alike), peer("h11", change));
    assert.ok(found.some((one) => one.includes(`h11 differs in ${part}`)), found.join("; "));
  });
}

Deno.test("an input that all reject without a listed reason is a disagreement", async () => {
  const found = await disagreements(TWO, peer("llhttp", refuses("no")), peer("go", refuses("no")));
  assert.ok(found.includes("request 1: llhttp refuses: no"), found.join("; "));
});

Deno.test("an input that all reject for listed reasons is not a disagreement", async () => {
  const stream = bytesOf(`\r\n${TWO}`);
  const ours = await parseStream(stream);
  const refusing = peer(
    "go",
    (parsed) =>
      parsed.requests[0]?.end === ours.requests[0].end
        ? refuses('malformed HTTP request ""')()
        : parsed,
  );
  const [judgement] = await judge([refusing], [stream], [ours]);
  assert.deepEqual(judgement.disagreements, []);
  assert.equal(judgement.alone.length, 1);
});
