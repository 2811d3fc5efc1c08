import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import { silentLogger } from "../../shared/log.ts";
import { snapshotOf, unheardHub } from "../../tests/support/fleet.ts";
import { SnapshotDiffer } from "../config/diff.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { LocalPlane } from "./local_plane.ts";

Deno.test("a change that one event loop cannot apply throws, so that it does not count as active", async () => {
  const plane = new LocalPlane({
    limits: DEFAULT_LIMITS,
    trustedProxies: CidrList.empty,
    upstreamNetworks: CidrList.empty,
    allowLoopbackUpstreams: true,
    sslRedirect: false,
    sslRedirectPort: 0,
    log: silentLogger,
  }, unheardHub());
  try {
    const differ = new SnapshotDiffer();
    // What no reader of snapshots lets pass.
    const bad = { ...snapshotOf(1), trustedProxies: [" "] };
    assert.throws(() => void plane.apply(differ.diff(bad, [])), /address/);
    await plane.apply(differ.diff(snapshotOf(1), []));
  } finally {
    plane.close();
  }
});
