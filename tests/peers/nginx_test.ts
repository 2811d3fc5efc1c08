/**
 * A thousand requests through nginx and through us. In: a seed. Out: that backend and client get the
 * same from both, but for the differences in `differences.ts`, each of which is really there.
 */
import assert from "node:assert/strict";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { ProxyServer } from "../../proxy/server.ts";
import { CidrList } from "../../shared/net/cidr.ts";
import { silentLogger } from "../../shared/log.ts";
import { type Snapshot, SNAPSHOT_FORMAT } from "../../shared/snapshot/types.ts";
import { Random } from "../fuzz/random.ts";
import { Backend, type Received } from "./backend.ts";
import { converse, type Pace, type Seen } from "./client.ts";
import {
  type Difference,
  REQUEST_DIFFERENCES,
  RESPONSE_DIFFERENCES,
  type Side,
  withoutDifferences,
} from "./differences.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type CaseRequest, randomRequest } from "./requests.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_121);
const CASES = 1000;
/** Connections at a time. */
const PARALLEL = 8;

interface Group {
  readonly requests: readonly CaseRequest[];
  readonly pace: Pace;
}

/** What one proxy made of every case. */
interface Run {
  readonly side: Side;
  readonly requests: ReadonlyMap<number, CaseRequest>;
  readonly received: ReadonlyMap<number, readonly Received[]>;
  readonly seen: ReadonlyMap<number, Seen>;
  readonly errors: readonly string[];
}

function randomGroups(): Group[] {
  const random = new Random(SEED);
  const groups: Group[] = [];
  let requests: CaseRequest[] = [];
  let size = random.between(1, 8);
  for (let id = 0; id < CASES; id++) {
    const request = randomRequest(random.fork(), id);
    requests.push(request);
    // To HTTP/1.0 a proxy may end any answer by closing.
    const ends = request.closes || request.version === "HTTP/1.0" || id === CASES - 1;
    if (!ends && requests.length < size) continue;
    groups.push({ requests, pace: random.oneIn(2) ? "pipelined" : "in turn" });
    requests = [];
    size = random.between(1, 8);
  }
  return groups;
}

async function run(groups: readonly Group[], side: Side, backend: Backend): Promise<Run> {
  const seen = new Map<number, Seen>();
  const errors: string[] = [];
  const waiting = [...groups];
  const work = async () => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      try {
        const answers = await converse(side.port, group.requests, group.pace);
        for (const [index, { id }] of group.requests.entries()) seen.set(id, answers[index]);
      } catch (error) {
        const ids = group.requests.map(({ id }) => id).join(", ");
        errors.push(`cases ${ids}, ${group.pace}: ${error}`);
      }
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return {
    side,
    requests: new Map(groups.flatMap(({ requests }) => requests).map((one) => [one.id, one])),
    received: backend.received,
    seen,
    errors: [...errors, ...backend.errors],
  };
}

function snapshotFor(port: number): Snapshot {
  return {
    format: SNAPSHOT_FORMAT,
    version: { epoch: "file", seen: {} },
    routes: [],
    defaultAction: { kind: "forward", backends: [{ upstream: "default/echo:80" }] },
    upstreams: [{
      id: "default/echo:80",
      protocol: "http",
      addresses: { kind: "endpoints", endpoints: [{ address: "127.0.0.1", port }] },
    }],
    certificates: [],
    defaultCertificate: null,
  };
}

async function runNginx(program: string, groups: readonly Group[]): Promise<Run> {
  const backend = new Backend(SEED, false);
  const nginx = await Nginx.start(program, backend.port);
  try {
    return await run(groups, { name: "nginx", port: nginx.port }, backend);
  } finally {
    await nginx.stop();
    backend.close();
  }
}

async function runPingress(groups: readonly Group[]): Promise<Run> {
  const backend = new Backend(SEED, true);
  const server = new ProxyServer({
    limits: DEFAULT_LIMITS,
    trustedProxies: CidrList.empty,
    upstreamNetworks: CidrList.empty,
    allowLoopbackUpstreams: true,
    sslRedirect: false,
    sslRedirectPort: 0,
    log: silentLogger,
  });
  server.apply(snapshotFor(backend.port));
  const { port } = server.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    return await run(groups, { name: "pingress", port }, backend);
  } finally {
    server.close();
    backend.close();
  }
}

/** A part of what a run made of a case. */
type View<T> = (run: Run, id: number) => T;

/** A case's view without these differences, as text that shows where two differ. */
function plain<T>(
  view: View<T>,
  run: Run,
  id: number,
  differences: readonly Difference<T>[],
): string {
  const request = run.requests.get(id)!;
  return JSON.stringify(withoutDifferences(view(run, id), differences, run.side, request), null, 1);
}

/** The cases in which two runs' views differ, beyond `differences`. */
function differing<T>(
  view: View<T>,
  [ours, theirs]: readonly [Run, Run],
  differences: readonly Difference<T>[],
): number[] {
  return [...ours.requests.keys()].filter((id) =>
    plain(view, ours, id, differences) !== plain(view, theirs, id, differences)
  );
}

function assertAlike<T>(
  view: View<T>,
  runs: readonly [Run, Run],
  differences: readonly Difference<T>[],
): void {
  const [id, ...others] = differing(view, runs, differences);
  if (id !== undefined) {
    const [ours, theirs] = runs.map((run) => plain(view, run, id, differences));
    assert.equal(ours, theirs, `seed ${SEED}: case ${id} differs, and ${others.length} others`);
  }
  const idle = differences.filter((one) =>
    differing(view, runs, differences.filter((other) => other !== one)).length === 0
  );
  assert.deepEqual(idle.map(({ what }) => what), [], "listed differences that are none");
}

Deno.test("a thousand requests give backend and client the same as through nginx", async (t) => {
  const program = await findNginx();
  if (program === null) {
    console.log(`skipped: a thousand requests beside nginx: ${MISSING}`);
    return;
  }
  const groups = randomGroups();
  const runs: [Run, Run] = [await runPingress(groups), await runNginx(program, groups)];

  await t.step("every request gets a response, and reaches the backend once", () => {
    for (const { errors, received, seen } of runs) {
      assert.deepEqual(errors, []);
      assert.equal(seen.size, CASES);
      assert.deepEqual([...received].filter(([, list]) => list.length !== 1), []);
      assert.equal(received.size, CASES);
    }
  });
  await t.step("the backend sees the same except for the listed differences", () => {
    assertAlike(({ received }, id) => received.get(id)![0], runs, REQUEST_DIFFERENCES);
  });
  await t.step("the client sees the same except for the listed differences", () => {
    assertAlike(({ seen }, id) => seen.get(id)!, runs, RESPONSE_DIFFERENCES);
  });
});
