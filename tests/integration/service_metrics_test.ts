/** Metrics of Services, of filters and of what is in progress, after known traffic over real sockets. */
import assert from "node:assert/strict";
import type { FilterSpec } from "../../shared/snapshot/types.ts";
import { Backend, Peer, refusingPort, reply, signal, statusOf } from "../support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../support/filtered_routes.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { statusAt } from "../support/request_load.ts";
import { snapshotOf } from "../support/test_proxy.ts";

const SERVICE = 'namespace="test",service="web"';

function responses(status: string, labels = SERVICE): string {
  return `pingress_upstream_requests_total{${labels},status="${status}"}`;
}

/** Waits until a look at the metrics shows this. */
async function seen(
  what: string,
  observed: ObservedProxy,
  key: string,
  value: number | undefined,
): Promise<void> {
  let last: number | undefined;
  const look = async () => {
    last = (await observed.series()).get(key);
    return last === value;
  };
  const end = performance.now() + 20_000;
  while (!await look()) {
    if (performance.now() > end) assert.fail(`Waited in vain: ${what}; it is ${last}`);
    await new Promise((resume) => setTimeout(resume, 5));
  }
}

Deno.test("attempts at a Service count by the status of each response, retries among them", async () => {
  await using backend = new Backend(async (peer) => {
    for (const status of ["200 OK", "404 Not Found", "500 Oh"]) {
      await peer.request();
      await peer.send(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
    }
  });
  using observed = new ObservedProxy([backend.port]);
  using client = await Peer.connect(observed.port);
  for (const status of [200, 404, 500]) {
    assert.equal(statusOf(await client.ask("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")), status);
  }
  const series = await observed.series();
  for (const status of ["2xx", "4xx", "5xx"]) assert.equal(series.get(responses(status)), 1);
  assert.equal(series.get(responses("none")), undefined);
  assert.equal(series.get(`pingress_upstream_duration_seconds_count{${SERVICE}}`), 3);
});

Deno.test("a failed attempt at a Service counts without a status, and so does its retry", async () => {
  using observed = new ObservedProxy([refusingPort(), refusingPort()]);
  assert.equal(await statusAt(observed.port), 502);
  const series = await observed.series();
  assert.equal(series.get(responses("none")), 2);
  assert.equal(series.get(`pingress_upstream_duration_seconds_count{${SERVICE}}`), undefined);
});

Deno.test("an attempt that its client broke off does not count against the Service", async () => {
  const asked = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    asked.resolve();
    await peer.ended();
  });
  using observed = new ObservedProxy([backend.port]);
  const client = await Peer.connect(observed.port);
  await client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  await asked.promise;
  assert.equal((await observed.series()).get("pingress_requests_active"), 1);
  client.close();
  await seen("the request has ended", observed, "pingress_requests_active", undefined);
  const counted = [...(await observed.series()).keys()]
    .filter((key) => key.startsWith("pingress_upstream_requests_total"));
  assert.deepEqual(counted, []);
});

Deno.test("the time of a Service ends with the head of its response", async () => {
  const finish = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    await finish.promise;
    await peer.send("ok");
    await peer.ended();
  });
  using observed = new ObservedProxy([backend.port]);
  using client = await Peer.connect(observed.port);
  await client.send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n");
  const count = `pingress_upstream_duration_seconds_count{${SERVICE}}`;
  await seen("the head has come", observed, count, 1);
  assert.equal((await observed.series()).get("pingress_requests_active"), 1);
  finish.resolve();
  while (await client.read() !== null && client.received === 0);
  await seen("the request has ended", observed, "pingress_requests_active", undefined);
});

Deno.test("backends of a split count for the Service that was chosen", async () => {
  await using web = new Backend();
  await using canary = new Backend();
  using observed = new ObservedProxy([]);
  const other = "test/canary:80";
  const backends = [{ upstream: WEB, weight: 1 }, { upstream: other, weight: 1 }];
  observed.apply(
    filteredSnapshot({ split: { action: { kind: "forward", backends } } }, [
      upstreamTo(WEB, [web.port]),
      upstreamTo(other, [canary.port]),
    ]),
  );
  for (let i = 0; i < 10; i++) assert.equal(await statusAt(observed.port, { path: "/split" }), 200);
  const series = await observed.series();
  assert.equal(series.get(responses("2xx")), 5);
  assert.equal(series.get(responses("2xx", 'namespace="test",service="canary"')), 5);
});

const REPLIES: readonly [says: string, filters: readonly FilterSpec[], filter: string, number][] = [
  [
    "a redirect",
    [{ kind: "redirect", location: "https://b.test/", status: 301 }],
    "redirect",
    301,
  ],
  [
    "a rewrite to what is no path",
    [{ kind: "rewrite", path: [{ kind: "text", text: "/b/../c" }] }],
    "rewrite",
    400,
  ],
  ["a list of networks", [{ kind: "access", deny: ["127.0.0.0/8"] }], "access", 403],
];
for (const [says, filters, filter, status] of REPLIES) {
  Deno.test(`a response of ${says} counts as that of its filter`, async () => {
    await using backend = new Backend();
    using observed = new ObservedProxy([]);
    observed.apply(
      filteredSnapshot({ a: { filters }, plain: {} }, [upstreamTo(WEB, [backend.port])]),
    );
    assert.equal(await statusAt(observed.port, { path: "/a" }), status);
    assert.equal(await statusAt(observed.port, { path: "/plain" }), 200);
    const counted = [...await observed.series()]
      .filter(([key]) => key.startsWith("pingress_filter_replies_total"));
    const labels = `filter="${filter}",status="${String(status)[0]}xx"`;
    assert.deepEqual(counted, [[`pingress_filter_replies_total{${labels}}`, 1]]);
  });
}

Deno.test("an ejected endpoint is shown until its time is over, also if no request comes", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([refusingPort(), backend.port], {
    limits: { ejectionFailures: 1, ejectionTime: 3_600_000 },
  });
  for (let i = 0; i < 2; i++) assert.equal(await statusAt(observed.port), 200);
  const state = (name: string) => `pingress_endpoints{${SERVICE},state="${name}"}`;
  const series = await observed.series();
  assert.deepEqual([series.get(state("ready")), series.get(state("ejected"))], [1, 1]);
  // Without the endpoint there is nothing left out.
  observed.apply(snapshotOf([backend.port]));
  const after = await observed.series();
  assert.deepEqual([after.get(state("ready")), after.get(state("ejected"))], [1, undefined]);
  using brief = new ObservedProxy([refusingPort(), backend.port], {
    limits: { ejectionFailures: 1, ejectionTime: 50 },
  });
  for (let i = 0; i < 2; i++) assert.equal(await statusAt(brief.port), 200);
  await seen("its time is over", brief, state("ejected"), undefined);
  assert.equal((await brief.series()).get(state("ready")), 2);
});

Deno.test("the series of a deleted Service go, and what is in progress there counts as other", async () => {
  const arrived = signal();
  const finish = signal();
  await using backend = new Backend(async (peer) => {
    await peer.request();
    await peer.send(reply("ok"));
    await peer.request();
    arrived.resolve();
    await finish.promise;
    await peer.send(reply("ok"));
    await peer.ended();
  });
  using observed = new ObservedProxy([backend.port]);
  using client = await Peer.connect(observed.port);
  const get = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n";
  assert.equal(statusOf(await client.ask(get)), 200);
  const answer = client.ask(get);
  await arrived.promise;
  observed.apply({ ...snapshotOf([]), routes: [], upstreams: [] });
  finish.resolve();
  assert.equal(statusOf(await answer), 200);
  const services = [...await observed.series()]
    .filter(([key]) => key.startsWith("pingress_upstream_requests_total"));
  assert.deepEqual(services, [[responses("2xx", 'namespace="",service="other"'), 1]]);
});
