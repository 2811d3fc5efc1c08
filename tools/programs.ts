/**
 * The two programs of an installation. In: `deno.json`. Out: their modules, their images' names, and
 * the flags with which Deno runs them, the same in a task, an executable and an image.
 */
import { entryName } from "./bundle/entries.ts";

/** What becomes an executable. */
export interface CompiledProgram {
  /** Of the task and the permission set. */
  readonly name: string;
  /** Of the image and the executable. */
  readonly image: string;
  /** The module that is started, then those that it starts as workers. */
  readonly entries: readonly [string, ...string[]];
}

export interface InstalledProgram extends CompiledProgram {
  /** Of the folder of its own code, too. */
  readonly name: "controller" | "proxy";
}

export const INSTALLED_PROGRAMS: readonly InstalledProgram[] = [
  {
    name: "controller",
    image: "pingress-controller",
    // With `pingress check`, which helm test runs from this image.
    entries: [
      "cli/installed/main.ts",
      "controller/process/controller.ts",
      "cli/cluster/plugin_thread.ts",
      "cli/cluster/thread.ts",
    ],
  },
  {
    name: "proxy",
    image: "pingress-proxy-server",
    entries: [
      "proxy/main.ts",
      "proxy/process/supervisor.ts",
      "proxy/process/worker.ts",
      "proxy/process/exporter_thread.ts",
      "proxy/filters/passwords/verifier.ts",
    ],
  },
];

/** In images, where the bundle of a program is. */
export const PROGRAM_FOLDER = "program";

/** Where an image has a module that starts as a program or a thread. */
export function bundledEntry(entry: string): string {
  return `${PROGRAM_FOLDER}/${entryName(entry)}.mjs`;
}

/** The program as its image has it. */
export function bundledProgram(program: InstalledProgram): InstalledProgram {
  const [main, ...threads] = program.entries;
  return { ...program, entries: [bundledEntry(main), ...threads.map(bundledEntry)] };
}

/** Of `deno.json`, as far as it is read here. */
export interface DenoConfig {
  readonly version: string;
  readonly license: string;
  readonly tasks: Readonly<Record<string, { readonly command: string }>>;
}

/** What the program's task gives to `deno run`: the permission set, V8's flags and the like. */
export function runFlags({ tasks }: DenoConfig, { name }: Pick<CompiledProgram, "name">): string[] {
  return tasks[name].command.split(" ").slice(2, -1);
}

/** Arguments of `deno` that make an executable. `excluded` are paths that need not exist. */
export function compileArguments(
  config: DenoConfig,
  program: CompiledProgram,
  { output, target, excluded }: {
    readonly output: string;
    /** `aarch64-unknown-linux-gnu`; null for that of this machine. */
    readonly target: string | null;
    readonly excluded: readonly string[];
  },
): string[] {
  const [main, ...workers] = program.entries;
  return [
    "compile",
    // An executable has all of its modules in it, and loads them in its own way.
    ...runFlags(config, program).filter((flag) => !flag.startsWith("--unstable-")),
    "--no-check",
    "--frozen",
    "--no-code-cache",
    "--exclude-unused-npm",
    ...excluded.map((path) => `--exclude=${path}`),
    ...workers.map((worker) => `--include=${worker}`),
    ...(target === null ? [] : [`--target=${target}`]),
    `--output=${output}`,
    main,
  ];
}
