/**
 * Autobahn's WebSocket cases through the proxy: frames in pieces, bad UTF-8, close codes, large and
 * compressed messages. In: kosoku. Out: every case passes, as it does without a proxy.
 */
import assert from "node:assert/strict";
import { authority, certificateFor, TlsProxy } from "../support/tls_proxy.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { drive, findKosoku, FuzzingServer, MISSING } from "./kosoku.ts";
import { EchoServer, runCases, TlsBridge } from "./websocket_peers.ts";

/** All of the protocol: 247 cases. */
const PROTOCOL = ["1.*", "2.*", "3.*", "4.*", "5.*", "6.*", "7.*", "10.*"];
/** 64 KiB to 16 MiB in one or many frames, and compressed messages: 54 and 4 cases. */
const BULK = ["9.*", "12.1.1", "12.2.3", "13.1.1", "13.3.2"];

Deno.test("Autobahn's WebSocket cases pass through the proxy", async (t) => {
  const folder = await Deno.makeTempDir({ prefix: "kosoku-" });
  const kosoku = await findKosoku(folder);
  if (kosoku === null) {
    console.log(`skipped: Autobahn's cases: ${MISSING}`);
    await Deno.remove(folder, { recursive: true });
    return;
  }
  const backend = await EchoServer.start();

  await t.step("247 of 247 from a client over ws", async () => {
    using proxy = new TestProxy([backend.port]);
    const verdicts = await drive(kosoku, `ws://127.0.0.1:${proxy.port}`, PROTOCOL);
    assert.deepEqual(verdicts, { count: 247, failed: [] });
  });

  await t.step("247 of 247 from a client over wss", async () => {
    const certificate = await certificateFor("a", { names: ["a.test"] });
    using proxy = await TlsProxy.start({
      certificates: [certificate],
      endpoints: [backend.port],
    });
    const bridge = await TlsBridge.start(proxy.port, "a.test", authority.certificate);
    try {
      const verdicts = await drive(kosoku, `ws://127.0.0.1:${bridge.port}`, PROTOCOL);
      assert.deepEqual(verdicts, { count: 247, failed: [] });
    } finally {
      await bridge.stop();
    }
  });

  await t.step("247 of 247 from a backend", async () => {
    const fuzzer = await FuzzingServer.start(kosoku, PROTOCOL);
    try {
      using proxy = new TestProxy([fuzzer.port]);
      await runCases(proxy.port);
      assert.deepEqual(await fuzzer.verdicts(), { count: 247, failed: [] });
    } finally {
      await fuzzer.stop();
    }
  });

  await t.step("large and compressed messages", async () => {
    using proxy = new TestProxy([backend.port]);
    const verdicts = await drive(kosoku, `ws://127.0.0.1:${proxy.port}`, BULK);
    assert.deepEqual(verdicts, { count: 58, failed: [] });
  });

  await backend.stop();
  await Deno.remove(folder, { recursive: true });
});
