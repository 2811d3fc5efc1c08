/**
 * Functions that get text, bytes, or what was read of them. In: the sources of the programs. Out:
 * the name of each exported function, and of each public method and constructor of an exported class,
 * that has such a parameter: `proxy/http/accept.ts prefersJson`.
 */
import { relative } from "node:path";

/** What others wrote comes as one of these, be it as a part of another type. */
const TEXT_TYPES = new Set([
  "string",
  "Uint8Array",
  "unknown",
  "JsonObject",
  "Fields",
  "RequestHead",
  "ResponseHead",
  "HeadBlock",
  "IncomingMessage",
  "Resources",
]);

/** The part of what `deno doc --json` prints that is used here. */
interface Doc {
  readonly nodes: Readonly<Record<string, { readonly symbols: readonly DocSymbol[] }>>;
}

interface DocSymbol {
  readonly name: string;
  readonly declarations: readonly Declaration[];
}

interface Declaration {
  readonly declarationKind: "export" | "private" | "declare";
  readonly kind: string;
  readonly def?: {
    readonly params?: readonly Parameter[];
    readonly constructors?: readonly { readonly params: readonly Parameter[] }[];
    readonly methods?: readonly Method[];
  };
}

interface Method {
  readonly name: string;
  readonly accessibility?: "public" | "protected" | "private";
  readonly functionDef: { readonly params: readonly Parameter[] };
}

interface Parameter {
  readonly tsType?: unknown;
  /** Of a parameter with a default. */
  readonly left?: { readonly tsType?: unknown };
}

/** Those of the files in these folders below `root`, in order. */
export async function textFunctions(root: string, folders: readonly string[]): Promise<string[]> {
  const files = folders.flatMap((folder) => sourcesOf(`${root}/${folder}`));
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--quiet", "--json", ...files],
    cwd: root,
  }).output();
  if (code !== 0) throw new Error(new TextDecoder().decode(stderr));
  const { nodes }: Doc = JSON.parse(new TextDecoder().decode(stdout));
  return Object.entries(nodes).flatMap(([url, { symbols }]) => {
    const file = relative(root, new URL(url).pathname);
    return symbols.flatMap(namesOf).map((name) => `${file} ${name}`);
  }).sort();
}

function sourcesOf(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = `${folder}/${name}`;
    if (isDirectory) return sourcesOf(path);
    return name.endsWith(".ts") && !name.endsWith("_test.ts") ? [path] : [];
  });
}

function namesOf({ name, declarations }: DocSymbol): string[] {
  return declarations.flatMap(({ declarationKind, kind, def }) => {
    if (declarationKind === "private" || def === undefined) return [];
    if (kind === "function") return hasText(def.params ?? []) ? [name] : [];
    if (kind !== "class") return [];
    const made = (def.constructors ?? []).some(({ params }) => hasText(params));
    const methods = (def.methods ?? []).filter(({ accessibility, functionDef }) =>
      accessibility !== "private" && hasText(functionDef.params)
    );
    return [...made ? [`new ${name}`] : [], ...methods.map((method) => `${name}.${method.name}`)];
  });
}

function hasText(parameters: readonly Parameter[]): boolean {
  return parameters.some(({ tsType, left }) => mentions(tsType ?? left?.tsType));
}

/** Whether a type has one of `TEXT_TYPES` in it. */
function mentions(type: unknown): boolean {
  if (typeof type !== "object" || type === null) return false;
  // The kind of a literal is "string" too.
  return Object.entries(type).some(([name, value]) =>
    typeof value === "string" ? name !== "kind" && TEXT_TYPES.has(value) : mentions(value)
  );
}
