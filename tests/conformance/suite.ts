/**
 * The official conformance suite, from its Go modules. In: a cluster with Pingress, and options. Out: the
 * outcome of each case, while it runs.
 */
import { dirname, join } from "node:path";
import { VERSION } from "../../shared/version.ts";
import { BUILD_FLAGS, buildOnce, cacheFolder, go } from "../peers/go_program.ts";
import { chosenCases, type ConformanceOptions } from "./options.ts";
import type { OutcomeFolder } from "./outcomes.ts";
import { SKIPPED_CASES } from "./skipped_cases.ts";
import { type EndedCase, SuiteOutput } from "./suite_output.ts";

const HERE = import.meta.dirname!;
const API = "sigs.k8s.io/gateway-api";

/** The class of the suite's Gateways: that of `overlays/gateway`. */
export const GATEWAY_CLASS = "pingress";

/** Files of which the programs are made. */
const SOURCES = ["go.mod", "go.sum", "conformance_test.go"];

/**
 * Without optimizations and vet, building takes less time; the programs wait for others, and do not
 * notice. The standard library is that of all other Go programs of the tests, which is compiled already.
 */
const FLAGS = [...BUILD_FLAGS, "-gcflags=all=-N -l -dwarf=false", "-gcflags=std=-dwarf=false"];

export interface SuiteParts {
  /** Path of the suite's program. */
  readonly program: string;
  /** Folder with `echo-basic`. */
  readonly echo: string;
  /** Folder with the CRDs of a channel: `crds/standard`. */
  readonly crds: string;
  /** `v1.6.3`. */
  readonly version: string;
}

/** Builds what has not been built before; or says what is missing, with a remedy. */
export async function buildSuite(): Promise<SuiteParts | { readonly missing: string }> {
  const texts = await Promise.all(SOURCES.map((name) => Deno.readFile(join(HERE, name))));
  const bytes = await new Blob(texts).arrayBuffer();
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex().slice(0, 16);
  const folderOf = (name: string) => join(cacheFolder(), `${name}@${digest}`);
  const program = await buildOnce(folderOf("conformance"), "conformance.test", async (folder) => {
    const flags = [...FLAGS, "-vet=off", "-o", join(folder, "conformance.test")];
    await go(["test", "-c", ...flags, "."], {}, HERE);
  });
  if ("missing" in program) return program;
  const echo = await buildOnce(folderOf("echo-basic"), "echo-basic", async (folder) => {
    const flags = [...FLAGS, "-o", join(folder, "echo-basic")];
    await go(["build", ...flags, `${API}/conformance/echo-basic`], {}, HERE);
  });
  if ("missing" in echo) return echo;
  await go(["mod", "download", API], {}, HERE);
  const [folder, version] = (await go(["list", "-m", "-f", "{{.Dir}} {{.Version}}", API], {}, HERE))
    .trim().split(" ");
  return {
    ...{ program: program.path, echo: dirname(echo.path), version },
    crds: join(folder, "config", "crd"),
  };
}

export interface SuiteRun {
  /** Whether everything went well that has run, now or before. */
  readonly ok: boolean;
  /** Its last lines after the last case: why there was none, if the set-up has failed. */
  readonly lastLines: readonly string[];
}

/**
 * Runs cases that have no outcome yet, one after the other.
 *
 * @param report Where the report is written; null for none.
 */
export async function runSuite(
  { program }: SuiteParts,
  kubeconfig: string,
  options: ConformanceOptions,
  folder: OutcomeFolder,
  report: string | null,
  onEnd: (ended: EndedCase) => void,
): Promise<SuiteRun> {
  const flags: Readonly<Record<string, string | undefined>> = {
    "test.v": "true",
    // The suite has a timeout for each step.
    "test.timeout": "0",
    "gateway-class": GATEWAY_CLASS,
    "conformance-profiles": options.profile.join(","),
    // So that it is known which lines are of which case.
    "disable-parallel-tests": "true",
    "cleanup-base-resources": "false",
    "usable-address": options.usableAddress,
    "unusable-address": options.unusableAddress,
    "timeout-config-overrides": options.timeouts,
    "skip-tests": Object.keys(SKIPPED_CASES).join(",") || undefined,
    "cases": chosenCases(options).join(",") || undefined,
    "outcomes": folder.file,
    ...(report === null ? {} : {
      "report-output": report,
      "organization": "pingress",
      "project": "pingress",
      "url": "https://github.com/pingress/pingress",
      "version": VERSION,
      "contact": "https://github.com/pingress/pingress/issues",
    }),
  };
  const args = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`-${name}=${value}`]
  );
  const output = new SuiteOutput(options.lines);
  const child = new Deno.Command(program, {
    args,
    env: { KUBECONFIG: kubeconfig },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const log = await Deno.open(folder.log, { write: true, create: true, truncate: true });
  const writer = log.writable.getWriter();
  const encoder = new TextEncoder();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const line of linesOf(stream)) {
      await writer.write(encoder.encode(`${line}\n`));
      const ended = output.add(line);
      if (ended !== null) onEnd(ended);
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  // Waits for what is not in the file yet, and closes it.
  await writer.close();
  const { success } = await child.status;
  return { ok: success, lastLines: output.lastLines };
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}
