/**
 * Ends of different versions. The transcripts in `tests/golden/stream` stay as they are for ever:
 * `v2-*` is what the first
 * version with format 2 wrote, to be read by all that follow; `v1-*` what the one before wrote; `newer-*` is what one may
 * write that is not there yet. No task writes them anew; another version gets files of its own.
 */
import assert from "node:assert/strict";
import { textOf } from "../../tests/support/streamed_snapshots.ts";
import { parseSnapshot } from "../snapshot/parse.ts";
import { LineSplitter } from "./lines.ts";
import { readReport, readUpdate, type Report, type Update } from "./messages.ts";
import { MAX_UPDATE_BYTES } from "./protocol.ts";
import { ReceivedContent, type Taken } from "./received.ts";

const FOLDER = new URL("../../tests/golden/stream/", import.meta.url);

function linesOf(name: string): readonly string[] {
  const splitter = new LineSplitter(MAX_UPDATE_BYTES);
  return splitter.push(Deno.readFileSync(new URL(name, FOLDER))).lines;
}

function updatesOf(name: string): Update[] {
  return linesOf(name).map((line) => {
    const read = readUpdate(line);
    assert.ok(read.ok);
    return read.message;
  });
}

function reportsOf(name: string): Report[] {
  return linesOf(name).map((line) => {
    const read = readReport(line);
    assert.ok(read.ok);
    return read.message;
  });
}

function takeAll(updates: readonly Update[]): Taken[] {
  const received = new ReceivedContent();
  return updates.flatMap((update) =>
    update.kind === "snapshot" || update.kind === "delta" ? [received.take(update)] : []
  );
}

/** As texts of snapshots. */
function expectedOf(name: string): string[] {
  const expected: object[] = JSON.parse(Deno.readTextFileSync(new URL(name, FOLDER)));
  return expected.map((plain) => {
    const { snapshot } = parseSnapshot(JSON.stringify(plain));
    assert.ok(snapshot !== null);
    return textOf(snapshot);
  });
}

Deno.test("messages of the first controller of format 2 give the same snapshots", () => {
  const updates = updatesOf("v2-controller.ndjson");
  const kinds = ["hello", "snapshot", "ping", "delta", "delta", "same", "bye"];
  assert.deepEqual(updates.map(({ kind }) => kind), kinds);
  const taken = takeAll(updates);
  const texts = taken.map((one) => {
    assert.ok(one.ok);
    assert.deepEqual(one.problems, []);
    return textOf(one.snapshot);
  });
  assert.deepEqual(texts, expectedOf("v2-controller.expected.json"));
  const last = taken.at(-1);
  const same = updates[5];
  assert.ok(last?.ok && same.kind === "same");
  assert.equal(same.hash, last.hash);
  assert.deepEqual(updates[0], {
    kind: "hello",
    controller: "pingress-controller-7c9f8d6b5-x2x4z",
    build: "0.1.0",
    heartbeat: 1500,
    zone: "zone-a",
  });
});

Deno.test("a controller of format 1 is rejected, with the controller version to run", () => {
  const [whole] = takeAll(updatesOf("v1-controller.ndjson"));
  assert.deepEqual(whole, {
    ok: false,
    kind: "invalid",
    reason: "format 1 is older than 2, which this proxy reads; run a controller of the proxy's " +
      "version",
  });
});

Deno.test("messages of the first proxy are read", () => {
  const reports = reportsOf("v1-proxy.ndjson");
  const kinds = ["hello", "applied", "refused", "lost", "alive", "hello"];
  assert.deepEqual(reports.map(({ kind }) => kind), kinds);
  const [, , refused, , alive, again] = reports;
  assert.ok(refused.kind === "refused" && alive.kind === "alive" && again.kind === "hello");
  assert.equal(refused.code, "loss");
  assert.equal(alive.token.reveal(), "head.body.signature");
  assert.deepEqual(alive.version, again.version);
  assert.equal(again.version?.seen.EndpointSlice, "1222");
  assert.deepEqual(again.formats, [1]);
});

Deno.test("known parts of a newer controller's messages are read, and the rest is reported", () => {
  const updates = updatesOf("newer-controller.ndjson");
  const kinds = ["hello", "unknown", "snapshot", "ping", "delta", "same", "bye"];
  assert.deepEqual(updates.map(({ kind }) => kind), kinds);
  const taken = takeAll(updates);
  const warned = taken.map((one) => {
    assert.ok(one.ok);
    assert.ok(one.problems.every(({ severity }) => severity === "warning"));
    return one.problems.map(({ path }) => path).sort();
  });
  assert.deepEqual(warned, [
    [
      "$.certificates[0].key.algorithm",
      "$.certificates[0].ocsp",
      "$.certificates[0].origin.uid",
      "$.gateways",
      "$.hosts[0].redirect",
      "$.hosts[0].routes[0].origin.uid",
      "$.labels",
      "$.trace",
      "$.upstreams[0].addresses.endpoints[0].weight",
      "$.upstreams[0].addresses.total",
      "$.upstreams[0].ejection",
    ],
    [
      "$.gateways",
      "$.labels",
      "$.removed.gateways",
      "$.trace",
      "$.upstreams[0].addresses.endpoints[0].weight",
      "$.upstreams[0].addresses.total",
      "$.upstreams[0].ejection",
    ],
  ]);
  const texts = taken.map((one) => one.ok ? textOf(one.snapshot) : one.reason);
  assert.deepEqual(texts, expectedOf("newer-controller.expected.json"));
});

Deno.test("an unknown protocol of a newer controller is rejected by name, and the next delta repairs it", () => {
  const [unknown, mended, format] = takeAll(updatesOf("newer-unreadable.ndjson"));
  assert.deepEqual(unknown, {
    ok: false,
    kind: "invalid",
    reason: 'upstream "shop/quic:443", protocol: "h3" is none of "http", "https", "h2c", "h2"; ' +
      "write one of these, or use a proxy that is not older than the controller",
  });
  assert.ok(mended.ok);
  assert.deepEqual(mended.snapshot.upstreams.map(({ id }) => id), ["shop/web:80"]);
  assert.deepEqual(format, {
    ok: false,
    kind: "invalid",
    reason: "format 3 is newer than 2, which this proxy reads; run a proxy of the controller's " +
      "version",
  });
});

Deno.test("known parts of a newer proxy's messages are read", () => {
  const reports = reportsOf("newer-proxy.ndjson");
  const kinds = ["hello", "applied", "unknown", "refused", "alive"];
  assert.deepEqual(reports.map(({ kind }) => kind), kinds);
  const [hello, , , refused] = reports;
  assert.ok(hello.kind === "hello" && refused.kind === "refused");
  assert.deepEqual(hello.formats, [1, 2]);
  assert.equal(refused.code, "failed");
  assert.equal(refused.reason, "it is paused");
});

Deno.test("each transcript is read the same from chunks of any size", () => {
  for (const { name } of Deno.readDirSync(FOLDER)) {
    if (!name.endsWith(".ndjson")) continue;
    const bytes = Deno.readFileSync(new URL(name, FOLDER));
    for (const size of [1, 7, 64, 1000]) {
      const splitter = new LineSplitter(MAX_UPDATE_BYTES);
      const lines: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        lines.push(...splitter.push(bytes.subarray(at, at + size)).lines);
      }
      assert.deepEqual(lines, linesOf(name));
    }
  }
});
