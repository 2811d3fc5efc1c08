/**
 * Random Ingresses with `enable-access-log`, through ingress-nginx's configuration of nginx and through us. In: a
 * seed. Out: the same lines in the access log, or what differs.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { recordingBackend } from "../support/backend.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type HostedIngress, ingressServers } from "./nginx_ingress.ts";
import { outcome } from "./nginx_outcome.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
/** Of the annotation, at least. */
const PAIRS = 100;
const HOSTS = 50;
const REQUESTS = 4;

/** Of a host, whose paths are of Ingresses of their own. */
const PATHS = ["/", "/a", "/a/b"];
const TARGETS = ["/", "/a", "/a/", "/a/b", "/a/b/c", "/ab", "/c"];

function randomIngress(random: Random, index: number): HostedIngress {
  const annotations: Record<string, string> = {};
  const sometimes = (name: string, rarity: number, value: () => string) => {
    if (random.oneIn(rarity)) annotations[name] = value();
  };
  if (!random.oneIn(4)) annotations["enable-access-log"] = random.pick(["true", "false", "false"]);
  sometimes("permanent-redirect", 4, () => "https://new.example.com/a");
  sometimes("denylist-source-range", 4, () => random.pick(["10.0.0.0/8", "127.0.0.0/8"]));
  sometimes("upstream-vhost", 4, () => "web.example.com");
  const paths = PATHS.filter((path) => path === "/" || random.oneIn(2));
  return {
    ...{ host: `h${index}.test`, annotations },
    paths: paths.map((path) => [path, random.oneIn(2) || path === "/" ? "Prefix" : "Exact"]),
  };
}

/** Request line and status of each line, in the combined format. */
function entriesOf(lines: readonly string[]): string[] {
  return lines.map((line) => /\] "([^"]*)" (\d{3}) /.exec(line)?.slice(1).join(" ") ?? line);
}

Deno.test("enable-access-log leaves the same requests out of the log as in ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const ingresses = Array.from({ length: HOSTS }, (_, i) => randomIngress(random.fork(), i));
  const received: string[] = [];
  await using backend = recordingBackend(received);
  const folder = await Deno.makeTempDir({ prefix: "nginx-log-" });
  await Deno.chmod(folder, 0o777);
  const file = join(folder, "access.log");
  const nginx = await Nginx.startWith(
    program,
    (port) => ingressServers(ingresses, port, backend.port, {}, file),
  );
  using observed = new ObservedProxy([], { accessLog: { format: "nginx" } });
  let pairs = 0;
  const statuses = new Set<number>();
  try {
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    observed.apply(annotatedSnapshot(byName, [backend.port], "nginx"));
    for (const { host, annotations } of ingresses) {
      for (let i = 0; i < REQUESTS; i++) {
        // Each with a line of its own.
        const target = `${random.pick(TARGETS)}?${host}-${i}`;
        const method = random.pick(["GET", "DELETE", "OPTIONS"]);
        const request =
          `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const theirs = await outcome(nginx.port, request, received);
        const ours = await outcome(observed.port, request, received);
        assert.deepEqual(ours, theirs, `${JSON.stringify(annotations)} ${request}`);
        statuses.add(theirs.status);
        if ("enable-access-log" in annotations) pairs++;
      }
    }
  } finally {
    // It has written all of its log by then.
    await nginx.stop();
  }
  const theirs = entriesOf((await Deno.readTextFile(file)).split("\n").slice(0, -1));
  await Deno.remove(folder, { recursive: true });
  assert.deepEqual(entriesOf(await observed.textLines()), theirs);
  assert.ok(pairs >= PAIRS, `${pairs} pairs`);
  assert.ok(theirs.length >= REQUESTS && theirs.length <= REQUESTS * (HOSTS - 1));
  for (const status of [200, 301, 403]) assert.ok(statuses.has(status), `no pair led to ${status}`);
});
