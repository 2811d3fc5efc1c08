/**
 * The collector of OpenTelemetry, with the receiver of OTLP and the exporter that prints what came. In:
 * nothing. Out: a running one, and the spans that it has printed. Built once, by the project's own builder.
 *
 * The exporter that writes files of JSON is left out: a module that its tests need cannot be had everywhere.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { buildOnce, cacheFolder, type Found, go, skip } from "../peers/go_program.ts";
import { freePort } from "../support/ports.ts";

const VERSION = "v0.165.0";
/** Of what is numbered from 1. */
const STABLE_VERSION = "v1.71.0";
const BUILDER = `go.opentelemetry.io/collector/cmd/builder@${VERSION}`;
/** How long its build may take, in ms: it fetches a hundred modules. */
const BUILD = 900_000;
/** How long it may take to listen, in ms. */
const START = 30_000;

const MANIFEST = `dist:
  name: otelcol
  module: pingress.io/otelcol
  output_path: .
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver ${VERSION}
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/debugexporter ${VERSION}
providers:
  - gomod: go.opentelemetry.io/collector/confmap/provider/envprovider ${STABLE_VERSION}
  - gomod: go.opentelemetry.io/collector/confmap/provider/fileprovider ${STABLE_VERSION}
`;

/** The executable, or why it is missing. */
export function findCollector(): Promise<Found> {
  const digest = createHash("sha256").update(MANIFEST).digest("hex").slice(0, 16);
  return buildOnce(join(cacheFolder(), `otelcol@${digest}`), "otelcol", async (folder) => {
    await go(["install", BUILDER], { GOBIN: folder });
    const manifest = join(folder, "builder.yaml");
    await Deno.writeTextFile(manifest, MANIFEST);
    const { success, stderr } = await new Deno.Command(join(folder, "builder"), {
      args: ["--config", manifest],
      cwd: folder,
      env: { GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "", CGO_ENABLED: "0" },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
      signal: AbortSignal.timeout(BUILD),
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr).slice(-2000));
  });
}

/** A span as the exporter prints it. */
export interface PrintedSpan {
  readonly traceId: string;
  readonly parentId: string;
  readonly id: string;
  readonly name: string;
  readonly kind: string;
  readonly status: string;
  /** `Str(GET)`, `Int(200)`, by key. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Of the resource. */
  readonly resource: Readonly<Record<string, string>>;
}

export class Collector {
  readonly port: number;
  #printed = "";
  readonly #process: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  readonly #folder: string;

  private constructor(process: Deno.ChildProcess, folder: string, port: number) {
    this.#process = process;
    this.#folder = folder;
    this.port = port;
    this.#reading = this.#read();
  }

  /** Null where it is missing: then `test` is skipped, and this says why. */
  static async start(test: string, port = freePort()): Promise<Collector | null> {
    const found = await findCollector();
    if ("missing" in found) return skip(test, found.missing);
    const folder = await Deno.makeTempDir({ prefix: "otelcol-" });
    const file = join(folder, "collector.yaml");
    await Deno.writeTextFile(file, configuration(port));
    const process = new Deno.Command(found.path, {
      args: ["--config", file],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const collector = new Collector(process, folder, port);
    await collector.#until(() => collector.#printed.includes("Everything is ready"));
    return collector;
  }

  /** All spans, once there are so many. */
  async spans(count: number): Promise<PrintedSpan[]> {
    await this.#until(() => spansIn(this.#printed).length >= count);
    return spansIn(this.#printed);
  }

  /** What it has logged besides. */
  get printed(): string {
    return this.#printed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGTERM");
    } catch {
      // It has ended by itself.
    }
    await this.#reading;
    await this.#process.status;
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.#process.stderr) {
      this.#printed += decoder.decode(bytes, { stream: true });
    }
  }

  async #until(condition: () => boolean): Promise<void> {
    const deadline = performance.now() + START;
    while (!condition()) {
      if (performance.now() > deadline) throw new Error(`too late: ${this.#printed.slice(-4000)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function configuration(port: number): string {
  return `receivers:
  otlp:
    protocols:
      http:
        endpoint: 127.0.0.1:${port}
exporters:
  debug:
    verbosity: detailed
    sampling_initial: 1000000
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [debug]
`;
}

/** The format of `verbosity: detailed`, which is for people: a part for each resource, in it one a span. */
function spansIn(printed: string): PrintedSpan[] {
  return printed.split(/\tResourceSpans #\d+$/m).slice(1).flatMap((part) => {
    const [resource, ...spans] = part.split(/^Span #\d+$/m);
    return spans.map((text) => {
      const value = (name: string) =>
        new RegExp(`^ {4}${name} *: (.*)$`, "m").exec(text)?.[1].trim() ?? "";
      return {
        traceId: value("Trace ID"),
        parentId: value("Parent ID"),
        id: value("ID"),
        name: value("Name"),
        kind: value("Kind"),
        status: value("Status code"),
        attributes: attributesIn(text),
        resource: attributesIn(resource),
      };
    });
  });
}

function attributesIn(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/^ +-> ([^:]+): (.*)$/gm)].map(([, key, value]) => [key, value]),
  );
}
