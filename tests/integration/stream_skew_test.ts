/**
 * A real proxy and controllers and files of other versions, as they stand in `tests/golden/stream`:
 * what is served, what is reported, and what is said of it.
 */
import assert from "node:assert/strict";
import { eventually } from "../cluster/support/condition.ts";
import { Peer, statusOf } from "../support/backend.ts";
import { MisbehavingController, type ServedStream } from "../support/misbehaving_controller.ts";
import { ProxyProcess } from "../support/proxy_process.ts";
import { snapshotOf } from "../support/test_proxy.ts";

interface Line {
  readonly kind: string;
  readonly version?: {
    readonly epoch: string;
    readonly seen: Readonly<Record<string, string>>;
  };
  readonly hash?: string;
  readonly hosts?: readonly { readonly routes: readonly object[] }[];
}

const FOLDER = new URL("../golden/stream/", import.meta.url);

/** Of a route that leads to endpoints, which are out of these networks' reach. */
const FORWARDED = 502;
const FLAGS = ["--workers=1", "--upstream-networks=192.0.2.0/24"];

function linesOf(name: string): Line[] {
  const text = Deno.readTextFileSync(new URL(name, FOLDER));
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

/** The same under a version that has seen more. */
function later(line: Line): Line {
  const { epoch, seen } = line.version!;
  return { ...line, version: { epoch, seen: { ...seen, Gateway: `1${seen.Gateway}` } } };
}

/** What a controller of that version writes to a file, of the whole with which its stream begins. */
function fileOf(name: string): string {
  const whole = linesOf(name).find(({ kind }) => kind === "snapshot")!;
  const { kind: _kind, hash: _hash, hosts, ...rest } = whole;
  return JSON.stringify({ ...rest, routes: hosts!.flatMap(({ routes }) => routes) });
}

async function answerTo(proxy: ProxyProcess, host: string, path = "/"): Promise<number> {
  using client = await Peer.connect(proxy.httpPort);
  return statusOf(await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`));
}

/** One without a file. */
async function startProxy(controller: MisbehavingController): Promise<ProxyProcess> {
  return await ProxyProcess.start({
    snapshot: snapshotOf([]),
    publish: () => {},
    started: "Not ready",
    args: [...controller.flags, ...FLAGS],
  });
}

/** All of a stream up to its `same`, which is for a proxy that comes again, and to its end. */
async function replay(stream: ServedStream, name: string): Promise<void> {
  const changes = linesOf(name).filter(({ kind }) => kind !== "same" && kind !== "bye");
  for (const line of changes) stream.say(line);
  await stream.reportsOf("applied", changes.filter(({ hash }) => hash !== undefined).length);
}

for (const name of ["v2-controller.ndjson", "newer-controller.ndjson"]) {
  Deno.test(`${name}: a proxy serves the stream's configuration, and reconnects with it`, async () => {
    await using controller = await MisbehavingController.start();
    await using proxy = await startProxy(controller);
    const first = await controller.stream(0);
    await replay(first, name);
    await proxy.line("Ready");
    assert.equal(first.reports.some(({ kind }) => kind === "refused" || kind === "lost"), false);
    assert.equal(await answerTo(proxy, "a.example.com", "/api"), FORWARDED);
    assert.equal(await answerTo(proxy, "b.example.org"), 404);
    first.cut();
    const again = await controller.stream(1);
    const same = linesOf(name).find(({ kind }) => kind === "same")!;
    assert.equal((await again.report("hello")).hash, same.hash);
    for (const line of linesOf(name).filter(({ kind }) => kind === "hello")) again.say(line);
    again.say(same);
    const applied = await again.report("applied");
    assert.deepEqual(applied.version?.seen, same.version!.seen);
    // Whatever a newer one says besides, once a kind.
    const told = proxy.lines.map(({ kind, path }) => kind ?? path).filter((what) =>
      what === "hint" || String(what).endsWith(".ocsp")
    );
    assert.equal(told.length, name.startsWith("newer") ? 2 : 0);
  });
}

Deno.test("a newer controller's feature that a proxy lacks is rejected by name, and the active snapshot stays", async () => {
  await using controller = await MisbehavingController.start();
  await using proxy = await startProxy(controller);
  const stream = await controller.stream(0);
  await replay(stream, "newer-controller.ndjson");
  await proxy.line("Ready");
  const [unknown, mended, format] = linesOf("newer-unreadable.ndjson").map(later);
  stream.say(unknown);
  const { code, reason, version } = await stream.report("refused");
  assert.deepEqual([code, version?.seen], ["invalid", unknown.version!.seen]);
  assert.match(reason, /^upstream "shop\/quic:443", protocol: "h3" is none of /);
  await proxy.line("Configuration rejected, keeping the active one");
  assert.equal(await answerTo(proxy, "q.example.com"), 404);
  assert.equal(await answerTo(proxy, "a.example.com", "/api"), FORWARDED);
  const from = stream.reports.length;
  stream.say(mended);
  await stream.report("applied", from);
  stream.say(format);
  const newer = await stream.report("refused", from);
  assert.equal(newer.code, "invalid");
  assert.match(
    newer.reason,
    /^format 3 is newer than 2, .*run a proxy of the controller's version/,
  );
  assert.equal(await answerTo(proxy, "a.example.com", "/api"), FORWARDED);
  assert.equal(stream.hasEnded, false);
});

Deno.test("files of the first and of a newer controller are served, and one beyond the proxy leaves the active snapshot", async () => {
  const [first, newer, unreadable] = ["v2-controller", "newer-controller", "newer-unreadable"]
    .map((name) => fileOf(`${name}.ndjson`));
  let next = first;
  await using proxy = await ProxyProcess.start({
    snapshot: snapshotOf([]),
    publish: (folder) => {
      Deno.writeTextFileSync(`${folder}/next`, next);
      Deno.renameSync(`${folder}/next`, `${folder}/snapshot.json`);
    },
    args: FLAGS,
  });
  assert.equal(await answerTo(proxy, "a.example.com", "/health"), 503);
  assert.equal(await answerTo(proxy, "b.example.com"), FORWARDED);
  next = newer;
  proxy.replaceText(next);
  await eventually(
    "the next configuration",
    async () => await answerTo(proxy, "a.example.com", "/health") === FORWARDED,
  );
  next = unreadable;
  proxy.replaceText(next);
  const refused = await proxy.line("Configuration rejected, keeping the active one");
  assert.match(String(refused.problem), /"h3" is none of/);
  assert.equal(await answerTo(proxy, "a.example.com", "/health"), FORWARDED);
});
