/**
 * Our own proxy, started as images start it: version, cipher and group are what clients ask for. With
 * routes of its own it gets them as in a cluster, by a controller's stream; else from a file.
 */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { VERSION } from "../../shared/version.ts";
import { Child, freePort, run } from "../child.ts";
import { findInstalled, type Found } from "../found.ts";
import { BenchSnapshots } from "./pingress_snapshot.ts";
import { ControllerStream } from "./pingress_stream.ts";
import type { Peer, Running, Setup } from "../model.ts";

/** Of this checkout. */
export const ROOT = new URL("../..", import.meta.url).pathname;

/** A proxy's program. */
export interface ProxyProgram {
  /** With deno.json; working directory of the process. */
  readonly folder: string;
  /** Its main module, relative to that. */
  readonly main: string;
  /** Deno's cache; default: that of the user. */
  readonly cache?: string;
}

/** What goes before the command that starts it. */
export function wrapperOf({ cache }: ProxyProgram): string[] {
  return cache === undefined ? [] : ["env", `DENO_DIR=${cache}`];
}

/** The sources of this checkout. */
export const SOURCES: ProxyProgram = sourcesOf(ROOT);

function sourcesOf(root: string): ProxyProgram {
  return { folder: root, main: "proxy/main.ts" };
}

/** What each that was started with a stream is told. */
const streams = new WeakMap<Child, { stream: ControllerStream; snapshots: BenchSnapshots }>();

export const PINGRESS: Peer = pingressAt("pingress", ROOT);

/**
 * Of the checkout at `root`: `program`, its flags and permissions; and the configuration as that
 * checkout's controller writes it, since a proxy reads the snapshot format of its own version.
 */
export function pingressAt(
  name: string,
  root: string,
  program: ProxyProgram = sourcesOf(root),
): Peer {
  return {
    name,
    async find(): Promise<Found> {
      const found = await findInstalled([Deno.execPath(), "--version"], "deno is not where it was");
      if (found.kind !== "found") return found;
      // Sources that are not of a clone have no commit.
      const commit = await run(["git", "-C", root, "describe", "--always", "--dirty"])
        .catch(() => "");
      const release = commit === "" ? VERSION : `${VERSION} (${commit.trim()})`;
      return { kind: "found", version: `pingress ${release} on ${found.version}` };
    },
    start: (setup) => start(setup, root, program),
    reload({ child }: Running, turn: number): Promise<void> {
      const told = streams.get(child);
      if (told === undefined) throw new Error("it was started without a stream");
      told.stream.update(told.snapshots.at(turn));
      return Promise.resolve();
    },
  };
}

interface Writers {
  readonly snapshots: typeof BenchSnapshots;
  readonly stream: typeof ControllerStream;
}

async function writersAt(root: string): Promise<Writers> {
  if (root === ROOT) return { snapshots: BenchSnapshots, stream: ControllerStream };
  const folder = `file://${join(root, "bench/peers")}`;
  const [snapshot, stream] = await Promise.all([
    import(`${folder}/pingress_snapshot.ts`),
    import(`${folder}/pingress_stream.ts`),
  ]);
  return { snapshots: snapshot.BenchSnapshots, stream: stream.ControllerStream };
}

async function start(setup: Setup, root: string, program: ProxyProgram): Promise<Child> {
  const { listen, backend, folder, workers, tls, routes, accessLog, traceRatio } = setup;
  const file = join(folder, "snapshot.json");
  const writers = await writersAt(root);
  const snapshots = await writers.snapshots.of(setup);
  const stream = routes === 1 ? null : await writers.stream.start(folder);
  // Keys are in files of their own: there is none to leave out.
  if (stream === null) await Deno.writeTextFile(file, JSON.stringify(snapshots.first));
  stream?.update(snapshots.first);
  // With HTTPS measured, plain HTTP still needs a place other than the default's.
  const http = tls === null ? formatAddress(listen) : unused();
  const child = await startProxy(program, {
    ...{ file, workers, http, accessLog },
    flags: [
      ...(tls === null ? [] : ["--listen-https", formatAddress(listen)]),
      ...(stream?.flags ?? []),
      ...(traceRatio === 0 ? [] : [
        ...["--otlp-endpoint", `http://${formatAddress(backend)}`],
        ...["--trace-ratio", String(traceRatio)],
      ]),
    ],
  });
  if (stream !== null) {
    streams.set(child, { stream, snapshots });
    child.ended.then(() => stream.stop());
  }
  return child;
}

export interface ProxySetup {
  /** The configuration. */
  readonly file: string;
  readonly workers: number;
  /** Where it listens for plain HTTP. */
  readonly http: string;
  readonly accessLog: boolean;
  readonly flags: readonly string[];
}

/** As images start it. */
export async function startProxy(
  program: ProxyProgram,
  { file, workers, http, accessLog, flags }: ProxySetup,
): Promise<Child> {
  const { folder, main } = program;
  const { tasks } = JSON.parse(await Deno.readTextFile(join(folder, "deno.json")));
  const engine = tasks.proxy.command.split(" ").filter((word: string) => /^--v8-flags=/.test(word));
  return Child.start([
    ...wrapperOf(program),
    ...[Deno.execPath(), "run", "--quiet", "-P=proxy", "--no-prompt", "--no-code-cache", ...engine],
    ...[main, "--config", file],
    ...["--workers", String(workers), "--allow-loopback-upstreams"],
    ...["--listen-http", http, "--admin", unused()],
    ...flags,
    // The load's connections are gone when it is stopped; there is nothing to wait for.
    ...["--drain-delay=0", "--drain-timeout=1s"],
    // As the peers are set up.
    ...[`--access-log=${accessLog}`, "--connection-request-limit=10000000"],
  ], folder);
}

function unused(): string {
  return formatAddress({ hostname: "127.0.0.1", port: freePort() });
}
