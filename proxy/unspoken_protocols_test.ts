import assert from "node:assert/strict";
import type { Action, Snapshot, Upstream } from "../shared/snapshot.ts";
import { SNAPSHOT_FORMAT } from "../shared/snapshot.ts";
import { answerUnspoken } from "./unspoken_protocols.ts";
import { SnapshotDiffer } from "./snapshot_delta.ts";

const ORIGIN = { kind: "Ingress", namespace: "a", name: "web", field: "" };

/** One route for each upstream, `/<id>`; the first is that of the default action too. */
function snapshotOf(...protocols: readonly Upstream["protocol"][]): Snapshot {
  const upstreams = protocols.map((protocol, i): Upstream => ({
    id: `u${i}`,
    protocol,
    addresses: { kind: "endpoints", endpoints: [{ address: "10.0.0.1", port: 80 }] },
  }));
  return {
    format: SNAPSHOT_FORMAT,
    version: { epoch: "file", seen: {} },
    routes: upstreams.map(({ id }) => ({
      id: `a.test Exact /${id}`,
      host: "a.test",
      path: { type: "Exact", value: `/${id}` },
      action: { kind: "forward", upstream: id },
      origin: ORIGIN,
    })),
    defaultAction: { kind: "forward", upstream: "u0" },
    upstreams,
    certificates: [],
    defaultCertificate: null,
  };
}

function show(action: Action | null): string {
  if (action === null) return "none";
  return action.kind === "forward" ? action.upstream : `${action.status} ${action.reason}`;
}

Deno.test("an upstream that asks for HTTP/2 answers 500 and is not spoken to in HTTP/1.1", () => {
  const { snapshot, unspoken } = answerUnspoken(snapshotOf("h2c", "http", "h2", "https"));
  assert.deepEqual(unspoken, [0, 2]);
  const h2c = "500 upstream u0 is to be spoken to in HTTP/2 (h2c), which is not there yet";
  const h2 = "500 upstream u2 is to be spoken to in HTTP/2 (h2), which is not there yet";
  assert.deepEqual(snapshot.routes.map(({ action }) => show(action)), [h2c, "u1", h2, "u3"]);
  assert.equal(show(snapshot.defaultAction), h2c);
  assert.deepEqual(snapshot.upstreams.map(({ id }) => id), ["u1", "u3"]);
});

Deno.test("a snapshot whose protocols are all spoken stays the same object", () => {
  const snapshot = snapshotOf("http", "https");
  assert.equal(answerUnspoken(snapshot).snapshot, snapshot);
});

Deno.test("an upstream that turns to HTTP/2 and back takes its routes along", () => {
  const differ = new SnapshotDiffer();
  const routes = (...protocols: readonly Upstream["protocol"][]) =>
    differ.diff(snapshotOf(...protocols), [])
      .hosts.flatMap(({ routes }) => routes.map(({ action }) => action.kind));
  assert.deepEqual(routes("http"), ["forward"]);
  assert.deepEqual(routes("h2c"), ["answer"]);
  assert.deepEqual(routes("http"), ["forward"]);
});
