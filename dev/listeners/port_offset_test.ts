import assert from "node:assert/strict";
import type { Address } from "../../shared/net/address.ts";
import { type DevOptions, parseDevOptions } from "../options.ts";
import { atFreePorts, canListen, parsePortOffset, placePorts } from "./port_offset.ts";

function optionsOf(...args: readonly string[]): DevOptions {
  const parsed = parseDevOptions(args);
  assert.ok(parsed.kind === "ok");
  return parsed.options;
}

function portsOf({ listenHttp, listenHttps, admin }: DevOptions): number[] {
  return [...listenHttp, ...listenHttps, admin].map(({ port }) => port);
}

Deno.test("--port-offset is auto or a number of ports", () => {
  for (
    const [text, expected] of [["auto", "auto"], ["0", 0], ["10", 10], ["65535", 65535]] as const
  ) {
    assert.equal(parsePortOffset(text), expected);
  }
  for (const text of ["", "-1", "1.5", "65536", "Auto", "1e3", " 1"]) {
    assert.equal(parsePortOffset(text), null);
  }
});

Deno.test("a number is added to the port of each listener, but not to port 0", () => {
  const placed = placePorts(optionsOf("--port-offset=7", "--listen-https=127.0.0.1:0"));
  assert.ok(typeof placed !== "string");
  assert.deepEqual(portsOf(placed.options), [8087, 0, 9097]);
  assert.match(String(placePorts(optionsOf("--port-offset=60000"))), /above 65535/);
});

Deno.test("auto takes the smallest offset at which all ports are free", () => {
  const holdUnless = (taken: readonly number[]) => (addresses: readonly Address[]) =>
    addresses.some(({ port }) => taken.includes(port)) ? null : true;
  for (
    const [taken, expected] of [
      [[], 0],
      [[8080], 1],
      [[8443], 1],
      [[8080, 9091], 2],
      [[8081, 8442], 0],
    ] as const
  ) {
    assert.equal(atFreePorts(optionsOf("--port-offset=auto"), holdUnless(taken))?.offset, expected);
  }
  assert.equal(atFreePorts(optionsOf("--port-offset=auto"), () => null), null);
});

Deno.test("auto leaves ports alone that requests are sent to", () => {
  const options = optionsOf("--port-offset=auto", "--map=default/web=127.0.0.1:8081");
  const hold = ([{ port }]: readonly Address[]) => port === 8080 ? null : true;
  assert.equal(atFreePorts(options, hold)?.offset, 2);
});

Deno.test("ports that auto has found are reserved until their listeners open", () => {
  const options = optionsOf("--port-offset=auto");
  const first = placePorts(options);
  const second = placePorts(options);
  assert.ok(typeof first !== "string" && typeof second !== "string");
  const { admin, listenHttp: [http] } = first.options;
  try {
    assert.ok(second.offset > first.offset, `${first.offset}, ${second.offset}`);
    assert.deepEqual([http, admin].map(canListen), [false, false]);
    first.reserved.release(http);
    assert.deepEqual([http, admin].map(canListen), [true, false]);
  } finally {
    first.reserved.releaseAll();
    second.reserved.releaseAll();
  }
  assert.ok(canListen(admin));
});
