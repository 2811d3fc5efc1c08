import assert from "node:assert/strict";
import { LineOutput, type LogFields, silentLogger } from "../../shared/log.ts";
import { Redacted } from "../../shared/redacted.ts";
import {
  type Action,
  type Balance,
  type Endpoint as EndpointSpec,
  type Route,
  type Snapshot,
  SNAPSHOT_FORMAT,
} from "../../shared/snapshot/types.ts";
import { Random } from "../../tests/fuzz/random.ts";
import { parseExposition } from "../../tests/support/exposition_parser.ts";
import { textOf } from "../../tests/support/observed_proxy.ts";
import { type Configured, randomConfigurations } from "../../tests/support/random_snapshot.ts";
import { ActiveRoutes } from "./active_routes.ts";
import type { Http1ClientConnection } from "../http1/client_connection.ts";
import type { ClientStream } from "../http2/client_stream.ts";
import { DEFAULT_LIMITS } from "../http/limits.ts";
import { ExchangeRecord } from "../http/message.ts";
import { LoopMark } from "../http/loop_mark.ts";
import { SnapshotDiffer } from "../config/diff.ts";
import { TelemetryHub } from "../telemetry/hub.ts";
import { Telemetry } from "../telemetry/telemetry.ts";
import { type DnsAnswer, DnsResolver } from "../upstream/dns.ts";
import { EndpointRegistry } from "../upstream/endpoint.ts";
import type { HttpEndpoint, HttpUpstream } from "./route.ts";

/** Time stands still. */
const STILL = {
  limits: DEFAULT_LIMITS,
  clock: { now: 0 },
  balance: "round-robin" as const,
  loopMark: new LoopMark("own"),
};

/** A configuration with its registry, and a way to put whole snapshots in force by deltas. */
class Scene {
  readonly registry = new EndpointRegistry<Http1ClientConnection, ClientStream>(10, 0);
  readonly loopMark = new LoopMark("own");
  readonly configuration: ActiveRoutes;
  readonly #differ = new SnapshotDiffer();

  constructor(resolver?: DnsResolver) {
    this.configuration = new ActiveRoutes(
      this.registry,
      silentLogger,
      Telemetry.unheard().metrics,
      { ...STILL, loopMark: this.loopMark, resolver },
    );
  }

  apply({ snapshot, certificates }: Configured): this {
    this.configuration.apply(this.#differ.diff(snapshot, certificates));
    return this;
  }

  upstream(host = "a.test"): HttpUpstream {
    const target = this.configuration.table.match(host, "/");
    assert.ok(target?.action.kind === "forward");
    return target.action.upstream;
  }

  /** Where the next `count` requests go. */
  turns(count: number): string[] {
    return Array.from({ length: count }, () => this.upstream().pick(null)?.address ?? "none");
  }
}

const PROBES = ["", "other.test", "example.com", "a.example.com", "b.example.com", "x.example.com"]
  .concat("c.test", "x.c.test", "x.y.c.test")
  .flatMap((host) =>
    ["/", "/api", "/api/", "/api/v1", "/api/v1/x", "/apis"].map((path) => [host, path] as const)
  );

/** All that a request or a handshake can see of a configuration. */
function behaviour({ configuration, registry, loopMark }: Scene) {
  return {
    routes: PROBES.map(([host, path]) => {
      const target = configuration.table.match(host, path);
      if (target === null) return null;
      const { action } = target;
      if (action.kind === "reply") return `${action.code} ${action.reason}`;
      assert.ok(action.kind === "forward");
      return `${action.upstream.id} ${endpointsOf(action.upstream)}`;
    }),
    certificates: ["", ...PROBES.map(([host]) => host)].map((name) => {
      const entry = configuration.certificates.find(name);
      return entry === null ? null : `${entry.id} ${entry.covers(name)}`;
    }),
    endpoints: registry.size,
    loopMark: loopMark.value,
  };
}

function endpointsOf(upstream: HttpUpstream): string {
  const tried: HttpEndpoint[] = [];
  for (let next = upstream.pick(tried); next !== null; next = upstream.pick(tried)) {
    tried.push(next);
  }
  return tried.map(({ address }) => address).sort().join();
}

Deno.test("many deltas give the same result as the last snapshot alone", () => {
  for (let seed = 0; seed < 20; seed++) {
    const changing = new Scene();
    for (const configured of randomConfigurations(new Random(seed), 30)) {
      changing.apply(configured);
      assert.deepEqual(behaviour(changing), behaviour(new Scene().apply(configured)), `${seed}`);
    }
    changing.configuration.close();
    assert.equal(changing.registry.size, 0);
  }
});

/** Every path of the hosts goes to one upstream with these addresses. */
function forwarding(addresses: readonly string[], id = "a/web:80", hosts = ["a.test"]): Configured {
  const endpoints: readonly EndpointSpec[] = addresses.map((address) => ({ address, port: 80 }));
  const snapshot: Snapshot = {
    format: SNAPSHOT_FORMAT,
    version: { epoch: "file", seen: {} },
    routes: hosts.map((host) => ({
      id: `${host} Prefix /`,
      host,
      match: { path: { type: "Prefix", value: "/" } },
      action: { kind: "forward", backends: [{ upstream: id }] },
      origin: { kind: "Ingress", namespace: "a", name: "web", field: "" },
    })),
    defaultAction: null,
    upstreams: [{ id, protocol: "http", addresses: { kind: "endpoints", endpoints } }],
    certificates: [],
    defaultCertificate: null,
  };
  return { snapshot, certificates: [] };
}

/** As `forwarding`, but the addresses are those of a name. */
function forwardingToName(name: string, balance: Balance): Configured {
  const { snapshot, ...rest } = forwarding([]);
  const addresses = { kind: "dns", name, port: 80 } as const;
  const upstreams = snapshot.upstreams.map((each) => ({ ...each, addresses, balance }));
  return { snapshot: { ...snapshot, upstreams }, ...rest };
}

const NOBODY: Configured = {
  snapshot: { ...forwarding([]).snapshot, routes: [], upstreams: [] },
  certificates: [],
};

Deno.test("a removed endpoint is not picked again, an added one is", () => {
  const scene = new Scene().apply(forwarding(["10.0.0.1", "10.0.0.2"]));
  assert.deepEqual(new Set(scene.turns(4)), new Set(["10.0.0.1", "10.0.0.2"]));
  scene.apply(forwarding(["10.0.0.2", "10.0.0.3"]));
  assert.deepEqual(new Set(scene.turns(4)), new Set(["10.0.0.2", "10.0.0.3"]));
  scene.apply(forwarding([]));
  assert.deepEqual(scene.turns(1), ["none"]);
});

Deno.test("round robin continues over a change: it does not restart at the first endpoint", () => {
  const scene = new Scene().apply(forwarding(["10.0.0.1", "10.0.0.2", "10.0.0.3"]));
  assert.deepEqual(scene.turns(2), ["10.0.0.1", "10.0.0.2"]);
  scene.apply(forwarding(["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]));
  assert.deepEqual(scene.turns(2), ["10.0.0.3", "10.0.0.4"]);
});

Deno.test("an unchanged upstream stays the same for new routes to it", () => {
  const scene = new Scene().apply(forwarding(["10.0.0.1"]));
  const before = scene.upstream();
  scene.apply(forwarding(["10.0.0.1"], "a/web:80", ["a.test", "b.test"]));
  assert.equal(scene.upstream("b.test"), before);
});

Deno.test("an endpoint keeps its pool while any upstream has it, also under another id", () => {
  const scene = new Scene().apply(forwarding(["10.0.0.1"]));
  const { pool } = scene.upstream().pick(null)!;
  scene.apply(forwarding(["10.0.0.1", "10.0.0.2"], "a/web:http"));
  assert.equal(scene.upstream().pick([scene.registry.acquire("10.0.0.2", 80)])!.pool, pool);
});

Deno.test("an exchange whose upstream is removed still finds an endpoint, and leaves no pool", () => {
  const scene = new Scene().apply(forwarding(["10.0.0.1"]));
  const upstream = scene.upstream();
  scene.apply(NOBODY);
  assert.equal(scene.registry.size, 0);
  const endpoint = upstream.pick(null)!;
  assert.equal(endpoint.address, "10.0.0.1");
  assert.equal(upstream.resolving, null);
  let closed = false;
  const connection = { onIdleClose: null, openedAt: 0, close: () => closed = true };
  endpoint.pool.give(connection as unknown as Http1ClientConnection, 0);
  assert.equal(closed, true);
  scene.configuration.close();
  assert.equal(scene.registry.size, 0);
});

Deno.test("a change of an upstream keeps the known addresses of its name, also while lookups fail", async () => {
  const lookups: string[] = [];
  let answer: Promise<DnsAnswer> = Promise.resolve({
    addresses: ["10.0.0.1"],
    ttl: null,
    missing: null,
  });
  const scene = new Scene(
    new DnsResolver((name) => {
      lookups.push(name);
      return answer;
    }),
  );
  scene.apply(forwardingToName("web.test", "round-robin"));
  scene.turns(1);
  await scene.upstream().resolving;
  assert.deepEqual(scene.turns(1), ["10.0.0.1"]);
  answer = Promise.reject(new Error("EAI_AGAIN"));
  answer.catch(() => {});
  scene.apply(forwardingToName("web.test", "least-requests"));
  scene.turns(1);
  await new Promise((resume) => setTimeout(resume));
  assert.deepEqual(scene.turns(1), ["10.0.0.1"]);
  assert.deepEqual(lookups, ["web.test"]);
  scene.apply(forwardingToName("api.test", "least-requests"));
  scene.turns(1);
  assert.deepEqual(lookups, ["web.test", "api.test"]);
  scene.configuration.close();
});

Deno.test("a reply for requests without a route is added and removed", () => {
  const scene = new Scene().apply(NOBODY);
  const match = () => scene.configuration.table.match("a.test", "/");
  assert.equal(match(), null);
  const defaultAction = { kind: "reply", status: 503, reason: "no such Service" } as const;
  scene.apply({ ...NOBODY, snapshot: { ...NOBODY.snapshot, defaultAction } });
  assert.deepEqual(match()?.action, {
    kind: "reply",
    code: "no_endpoint",
    reason: "no such Service",
  });
  scene.apply(NOBODY);
  assert.equal(match(), null);
});

const MISSING: readonly [what: string, change: Partial<Route>][] = [
  ["no filter set f", { filterSet: "f" }],
  ["no policy p", { policy: "p" }],
  [
    "no filter set f",
    { action: { kind: "forward", backends: [{ upstream: "a/web:80", filterSet: "f" }] } },
  ],
  ["no upstream b", { action: { kind: "forward", backends: [{ upstream: "b" }] } }],
];

for (const [reason, change] of MISSING) {
  Deno.test(`a route responds with 500 for ${reason}: ${JSON.stringify(change)}`, () => {
    const { snapshot } = forwarding(["10.0.0.1"]);
    const routes = [{ ...snapshot.routes[0], ...change }];
    const scene = new Scene().apply({ snapshot: { ...snapshot, routes }, certificates: [] });
    const target = scene.configuration.table.match("a.test", "/");
    assert.ok(target?.action.kind === "reply" && target.action.code === "route_broken");
    assert.equal(target.action.reason, reason);
  });
}

/** A route whose action cannot be compiled. */
function brokenRoute(host: string): Route {
  const action: Action = {
    kind: "forward",
    get backends(): never {
      throw new Error("cannot be compiled");
    },
  };
  return { ...forwarding([], "a/web:80", [host]).snapshot.routes[0], action };
}

Deno.test("a route that does not compile alone responds with 500, and the next change repairs it", () => {
  const logged: LogFields[] = [];
  const log = { ...silentLogger, error: (_: string, fields?: LogFields) => logged.push(fields!) };
  const registry = new EndpointRegistry<Http1ClientConnection, ClientStream>(10, 0);
  const configuration = new ActiveRoutes(registry, log, Telemetry.unheard().metrics, STILL);
  const before = forwarding(["10.0.0.1"], "a/web:80", ["a.test", "b.test", "c.test"]);
  const whole = new SnapshotDiffer().diff(before.snapshot, []);
  configuration.apply({
    ...whole,
    hosts: whole.hosts.map((entry) =>
      entry.host === "b.test" ? { ...entry, routes: [brokenRoute("b.test")] } : entry
    ),
  });
  const kinds = () =>
    ["a.test", "b.test", "c.test"].map((host) => {
      const target = configuration.table.match(host, "/");
      return target?.action.kind === "reply" ? target.action.code : target?.action.kind;
    });
  assert.deepEqual(kinds(), ["forward", "route_broken", "forward"]);
  assert.deepEqual(logged.map(({ route, problem }) => `${route}: ${problem}`), [
    "b.test Prefix /: cannot be compiled",
  ]);
  configuration.apply({ ...whole, upstreams: [] });
  assert.deepEqual(kinds(), ["forward", "forward", "forward"]);
});

function withCertificates(...certificates: [id: string, hosts: string[]][]): Configured {
  return {
    ...NOBODY,
    certificates: certificates.map(([id, hosts]) => ({
      id,
      hosts,
      chain: "",
      key: new Redacted(""),
    })),
  };
}

Deno.test("a certificate with an additional name covers it, for new connections", () => {
  const scene = new Scene().apply(withCertificates(["one", ["a.test"]]));
  const { certificates } = scene.configuration;
  const before = certificates.find("a.test")!;
  scene.apply(withCertificates(["one", ["a.test", "b.test"]]));
  assert.equal(certificates.find("b.test")?.covers("b.test"), true);
  scene.apply(withCertificates(["one", ["b.test"]], ["two", ["a.test"]]));
  assert.equal(certificates.find("a.test")?.id, "two");
  assert.equal(before.covers("a.test"), true, "a connection keeps the name it was opened for");
});

Deno.test("a last good certificate kept for two names covers both", () => {
  const scene = new Scene().apply(withCertificates(["one", ["a.test"]], ["one", ["b.test"]]));
  for (const name of ["a.test", "b.test"]) {
    assert.equal(scene.configuration.certificates.find(name)?.covers(name), true);
  }
});

Deno.test("a route counts in its own slot from its activation on, whichever route had it before", async () => {
  let now = 0;
  const output = new LineOutput({ write: (bytes) => Promise.resolve(bytes.length) });
  const hub = new TelemetryHub({ accessLog: null, output, now: () => now });
  const { setup } = hub.attach((message) => telemetry.receive(message));
  const telemetry = new Telemetry(setup, () => {});
  const { metrics } = telemetry;
  const registry = new EndpointRegistry<Http1ClientConnection, ClientStream>(10, 0);
  const configuration = new ActiveRoutes(registry, silentLogger, metrics, STILL);
  const differ = new SnapshotDiffer();
  const apply = ({ snapshot, certificates }: Configured) => {
    const delta = differ.diff(snapshot, certificates);
    hub.changes(delta);
    configuration.apply(delta);
  };
  const end = (host: string) => {
    const record = new ExchangeRecord();
    const place = configuration.table.find(host, "/");
    telemetry.routed(record, configuration.table.counters(place));
    record.status = 200;
    metrics.exchangeEnded(record, "GET");
  };
  apply(forwarding(["10.0.0.1"], "a/web:80", ["a.test", "b.test"]));
  end("a.test");
  end("b.test");
  apply(forwarding(["10.0.0.1"], "a/web:80", ["b.test"]));
  now += 60_000;
  // It takes over the slot of the one that has gone.
  apply(forwarding(["10.0.0.1"], "a/web:80", ["b.test", "c.test"]));
  end("b.test");
  end("c.test");
  const counted = [...parseExposition(await textOf(hub))]
    .filter(([key, count]) => key.startsWith("pingress_requests_total") && count > 0)
    .map(([key, count]) => [/host="([^"]*)"/.exec(key)![1], count]);
  assert.deepEqual(counted, [["b.test", 2], ["c.test", 1]]);
  configuration.close();
});
