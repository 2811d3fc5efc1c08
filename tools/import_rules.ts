/**
 * The rules of who may know whom. In: every module with its imports. Out: one sentence for each
 * breach, that names the file, what it does and the rule. Pure, so that tests plant breaches.
 */
import { FOLDERS, MAX_BOXES, MAX_FILES, rowOf } from "./import_table.ts";
import { mutableState } from "./module_state.ts";
import { pretenuredClosures } from "./pretenured_closures.ts";
import type { Import } from "./source.ts";

export interface Module {
  /** Relative to the repository, with slashes: `proxy/router/table.ts`. */
  readonly path: string;
  readonly text: string;
  /** Code without comments and insides of strings; see `codeOf`. */
  readonly code: string;
  readonly lines: number;
  readonly imports: readonly ResolvedImport[];
}

export interface ResolvedImport extends Import {
  /** The module of ours that it leads to, relative to the repository; null for others. */
  readonly target: string | null;
}

/** A file longer than this has more than one noun. Tests are tables, and may be longer. */
export const MAX_LINES = 500;

/** All breaches, in the order of the paths. `entries` are the files that tasks start. */
export function findBreaches(modules: readonly Module[], entries: ReadonlySet<string>): string[] {
  const graph = new Graph(modules);
  return modules
    .toSorted((a, b) => a.path < b.path ? -1 : 1)
    .flatMap((module) =>
      isTest(module.path) ? [...externalBreaches(module), ...guardBreaches(module)] : [
        ...externalBreaches(module),
        ...guardBreaches(module),
        ...layerBreaches(module),
        ...folderBreaches(module),
        ...purityBreaches(module, graph),
        ...stateBreaches(module),
        ...closureBreaches(module),
        ...startupBreaches(module, entries),
        ...weightBreaches(module, graph),
        ...lengthBreaches(module),
      ]
    )
    .concat(sizeBreaches(modules), graph.cycles());
}

export function isTest(path: string): boolean {
  return path.startsWith("tests/") || path.endsWith("_test.ts");
}

/** Folders that users run, and which others each may import, itself aside. */
const LAYERS: Readonly<Record<string, { readonly may: readonly string[]; readonly rule: string }>> =
  {
    cli: {
      may: ["shared", "controller", "dev"],
      rule: "what users run imports no tests, tools or benchmarks",
    },
    shared: { may: [], rule: "shared imports nothing of ours outside shared" },
    controller: { may: ["shared"], rule: "controller and proxy never import each other" },
    proxy: { may: ["shared"], rule: "controller and proxy never import each other" },
    dev: {
      may: ["shared", "controller", "proxy", "cli"],
      rule: "what users run imports no tests, tools or benchmarks",
    },
  };

function layerBreaches(module: Module): string[] {
  const folder = folderOf(module.path);
  const layer = LAYERS[folder];
  if (layer === undefined) return [];
  return targetsOf(module)
    .filter((target) => folderOf(target) !== folder && !layer.may.includes(folderOf(target)))
    .map((target) => {
      const between = ["controller", "proxy"].includes(folderOf(target)) || folder === "shared";
      const rule = between
        ? layer.rule
        : `${folder} imports ${layer.may.join(", ")} and itself only`;
      return `${module.path} imports ${target}: ${rule}`;
    });
}

/** What the table of folders does not allow; imports of other top folders are `layerBreaches`. */
function folderBreaches(module: Module): string[] {
  const top = folderOf(module.path);
  if (!["shared", "controller", "proxy"].includes(top)) return [];
  const row = rowOf(module.path);
  const may = FOLDERS.get(row);
  if (may === undefined) {
    return [`${module.path}: ${row} has no row in tools/import_table.ts`];
  }
  return targetsOf(module)
    .filter((target) => folderOf(target) === top && rowOf(target) !== row)
    .filter((target) => !may.includes(rowOf(target)))
    .map((target) =>
      `${module.path} imports ${target}: ${row} may not import ${rowOf(target)} ` +
      "(tools/import_table.ts)"
    );
}

/** Folders with more files than one finds one's way in. */
function sizeBreaches(modules: readonly Module[]): string[] {
  const files = new Map<string, Set<string>>();
  const boxes = new Map<string, Set<string>>();
  const put = (sets: Map<string, Set<string>>, key: string, value: string) =>
    sets.set(key, (sets.get(key) ?? new Set()).add(value));
  for (const { path } of modules) {
    const [top, box] = path.split("/");
    if (isTest(path) || LAYERS[top] === undefined) continue;
    put(files, path.slice(0, path.lastIndexOf("/")), path);
    put(boxes, top, box);
  }
  return [
    ...[...files].filter(([, { size }]) => size > MAX_FILES).map(([folder, { size }]) =>
      `${folder} has ${size} files: split it, a folder has ${MAX_FILES} at most`
    ),
    ...Object.entries(MAX_BOXES).filter(([top, most]) => (boxes.get(top)?.size ?? 0) > most).map(
      ([top, most]) =>
        `${top} has ${boxes.get(top)!.size} files and folders: ${most} are the most at its top`,
    ),
  ];
}

const TRANSLATE = /^controller\/translate\//;

/** What reads or changes the world, by the text that it is called with. */
const IMPURE: readonly [RegExp, string][] = [
  [/\bDeno\s*[.[]/, "Deno"],
  [/\b(?:setTimeout|setInterval|setImmediate)\b/, "timers"],
  [/(?<![.\w])fetch\s*\(/, "fetch"],
  [/\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\s*\./, "the system's clock"],
  [/\bMath\.random\b|\bcrypto\s*\.\s*(?:getRandomValues|randomUUID)\b/, "random numbers"],
  [/\bprocess\s*\.\s*\w/, "process"],
];

/** Packages of Node that do nothing but compute, and names of others that do nothing more. */
const PURE_NODE = new Set(["node:util", "node:crypto", "node:buffer", "node:path", "node:url"]);
const PURE_NAMES = new Set(["isIP", "isIPv4", "isIPv6"]);

/** `translate` and all that it runs; what it needs for types alone is erased, and does not count. */
function purityBreaches(module: Module, graph: Graph): string[] {
  if (!TRANSLATE.test(module.path)) return [];
  const rule = "translate is a pure function with its clock passed in";
  const breaches: string[] = [];
  for (const path of graph.reached(module.path)) {
    if (path !== module.path && TRANSLATE.test(path)) continue;
    const reached = graph.module(path)!;
    const who = path === module.path ? path : `${module.path} runs ${path}, which`;
    for (const [pattern, name] of IMPURE) {
      if (pattern.test(reached.code)) breaches.push(`${who} uses ${name}: ${rule}`);
    }
    for (const { specifier, typeOnly, names } of reached.imports) {
      if (typeOnly || specifier === null) continue;
      const impure = specifier.startsWith("node:")
        ? !PURE_NODE.has(specifier) &&
          (names.length === 0 || names.some((name) => !PURE_NAMES.has(name)))
        : specifier.includes("client-node");
      if (impure) breaches.push(`${who} imports ${specifier}: ${rule}`);
    }
  }
  return breaches;
}

/** What `translate` remembers would otherwise be shared by all translators of a process. */
function stateBreaches(module: Module): string[] {
  if (!/^controller\/(?:translate|base)\//.test(module.path)) return [];
  return mutableState(module.code).map((state) =>
    `${module.path} ${state}: only a Translator remembers, by what controller/translate/memory.ts has`
  );
}

/** Where objects live as long as a connection, or a request. */
const SHORT_LIVED =
  /^proxy\/(?:filters|forward|grpc|http|http1|http2|io|listen|route|router|upstream)\//;

/** Of a thread, which is started once. */
const OF_THREADS: ReadonlySet<string> = new Set(["onmessage", "onerror"]);

function closureBreaches(module: Module): string[] {
  if (!SHORT_LIVED.test(module.path)) return [];
  return pretenuredClosures(module.code).filter((property) => !OF_THREADS.has(property))
    .map((property) =>
      `${module.path} assigns a function to ${property} as it is written: V8 keeps it until a full ` +
      "collection, with all that it refers to; give it a name by a const first"
    );
}

const STARTUP: readonly [RegExp, string][] = [
  [/\bDeno\s*\.\s*args\b/, "Deno.args"],
  [/\bDeno\s*\.\s*env\b/, "Deno.env"],
  [/\bprocess\s*\.\s*env\b/, "process.env"],
  [/\bprocess\s*\.\s*argv\b/, "process.argv"],
];

/** Takes nothing of `node:process` but CPU time. */
const CPU_TIME = "shared/cpu_time.ts";

function startupBreaches(module: Module, entries: ReadonlySet<string>): string[] {
  // Tools and benchmarks are programs of a file each, which nobody runs in production.
  if (LAYERS[folderOf(module.path)] === undefined || entries.has(module.path)) return [];
  if (/(^|\/)(main|options)\.ts$/.test(module.path)) return [];
  const found = STARTUP.filter(([pattern]) => pattern.test(module.code)).map(([, name]) => name);
  if (
    module.path !== CPU_TIME && module.imports.some(({ specifier }) => specifier === "node:process")
  ) found.push("node:process");
  return found.map((name) =>
    `${module.path} uses ${name}: only main and options read arguments and environment`
  );
}

/** The package of many modules, and of 64 MB in memory. */
const KUBERNETES_CLIENT = /^@kubernetes\/client-node(?:\/|$)/;

/** Modules that start often, with packages of many modules that they have no use for. */
const LIGHT: Readonly<Record<string, RegExp>> = {
  "cli/cluster/thread.ts": KUBERNETES_CLIENT,
  "controller/process/controller.ts": KUBERNETES_CLIENT,
  "proxy/process/worker.ts": /^typebox(?:\/|$)/,
};

/** Each thread loads its modules anew. */
function weightBreaches(module: Module, graph: Graph): string[] {
  const unwanted = LIGHT[module.path];
  if (unwanted === undefined) return [];
  const loads = (path: string) =>
    graph.module(path)!.imports.find(({ typeOnly, specifier }) =>
      !typeOnly && specifier !== null && unwanted.test(specifier)
    )?.specifier ?? null;
  const way = loads(module.path) !== null
    ? [module.path]
    : graph.wayTo(module.path, (path) => loads(path) !== null, { types: false });
  if (way === null) return [];
  const chain = describeWay([...way, loads(way.at(-1)!)!]);
  return [`${chain}: a thread's start loads nothing that it does not need`];
}

/** Listeners that could keep what nobody caught from ending the process, or failing the test. */
const SWALLOWS = /(["'`])(?:unhandledrejection|uncaughtexception)\1|\bonunhandledrejection\b/i;

function guardBreaches(module: Module): string[] {
  if (
    !SWALLOWS.test(module.text) ||
    /^\w+\/(main|process\/(supervisor|worker|controller))\.ts$/.test(module.path)
  ) {
    return [];
  }
  return [
    `${module.path} listens for what nobody caught: only a main or a worker may, tests must fail of it`,
  ];
}

/** Its spans cost a worker more than those that the proxy writes by itself (docs/traces.md). */
const OPENTELEMETRY = /^@opentelemetry\//;

/** Loads modules of another checkout, which `bench --against` measures. */
const OTHER_CHECKOUT = "bench/peers/pingress.ts";

function externalBreaches(module: Module): string[] {
  return module.imports.flatMap(({ specifier }) => {
    if (specifier === null) {
      // Tests make modules of their own and load them.
      return isTest(module.path) || module.path === OTHER_CHECKOUT
        ? []
        : [`${module.path} imports a computed path: what it leads to cannot be checked`];
    }
    if (/^(npm|jsr|https?):/.test(specifier)) {
      return [`${module.path} imports ${specifier}: dependencies stand in deno.json, by npm only`];
    }
    if (OPENTELEMETRY.test(specifier) && folderOf(module.path) !== "bench") {
      return [`${module.path} imports ${specifier}: only benchmarks use it, to compare`];
    }
    return [];
  });
}

function lengthBreaches(module: Module): string[] {
  if (module.lines <= MAX_LINES) return [];
  return [
    `${module.path} has ${module.lines} lines: more than ${MAX_LINES} have more than one noun, split it`,
  ];
}

class Graph {
  #modules: ReadonlyMap<string, Module>;

  constructor(modules: readonly Module[]) {
    this.#modules = new Map(modules.map((module) => [module.path, module]));
  }

  module(path: string): Module | undefined {
    return this.#modules.get(path);
  }

  /** The module and all that its running loads. */
  reached(from: string): string[] {
    const seen = new Set([from]);
    for (const path of seen) for (const next of this.#next(path, false)) seen.add(next);
    return [...seen];
  }

  /** The shortest way from a module to one that `isGoal`, both ends included; null without one. */
  wayTo(
    from: string,
    isGoal: (path: string) => boolean,
    options: { readonly types: boolean },
  ): string[] | null {
    const cameFrom = new Map<string, string | null>([[from, null]]);
    for (const [path] of cameFrom) {
      if (path !== from && isGoal(path)) {
        const way = [path];
        for (let at = cameFrom.get(path); at != null; at = cameFrom.get(at)) way.unshift(at);
        return way;
      }
      for (const next of this.#next(path, options.types)) {
        if (!cameFrom.has(next)) cameFrom.set(next, path);
      }
    }
    return null;
  }

  /** One sentence for each circle of modules, imports of types included. */
  cycles(): string[] {
    const told = new Set<string>();
    const breaches: string[] = [];
    for (const path of [...this.#modules.keys()].sort()) {
      if (told.has(path)) continue;
      for (const next of this.#next(path, true)) {
        const back = next === path ? [path] : this.wayTo(next, (goal) => goal === path, {
          types: true,
        });
        if (back === null || back.some((step) => told.has(step))) continue;
        for (const step of back) told.add(step);
        breaches.push(`${describeWay([path, ...back])}: modules import in one direction only`);
      }
    }
    return breaches;
  }

  #next(path: string, types: boolean): string[] {
    return (this.#modules.get(path)?.imports ?? [])
      .filter((one) => types || !one.typeOnly)
      .map((one) => one.target)
      .filter((target) => target !== null && this.#modules.has(target)) as string[];
  }
}

/** `a imports b, which imports c`. */
function describeWay([first, second, ...rest]: readonly string[]): string {
  return [`${first} imports ${second}`, ...rest.map((path) => `which imports ${path}`)].join(", ");
}

function targetsOf(module: Module): string[] {
  return [...new Set(module.imports.map((one) => one.target).filter((target) => target !== null))];
}

function folderOf(path: string): string {
  return path.split("/")[0];
}
