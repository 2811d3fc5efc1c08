/**
 * The public HPACK test cases (github.com/http2jp/hpack-test-case): the same heads, encoded by many
 * implementations. In: a folder that PINGRESS_HPACK_STORIES names, or else Debian's archive of
 * sources, where haskell-http2 carries them. Out: stories, in each of which blocks share a table.
 */
import { join } from "node:path";
import { cacheFolder } from "./go_program.ts";
import type { Field } from "../support/hpack_heads.ts";

export const MISSING =
  "the HPACK test cases are not there (remedy: apt-get, which brings them with " +
  "Debian's source of haskell-http2, or PINGRESS_HPACK_STORIES=FOLDER of a clone of " +
  "github.com/http2jp/hpack-test-case)";

/** One header block. */
export interface Block {
  readonly wire: string;
  readonly fields: readonly Field[];
  /** The limit of the table that the decoder has announced before; null where nothing changed. */
  readonly tableSize: number | null;
}

export interface Story {
  /** `nghttp2/story_00`. */
  readonly name: string;
  readonly blocks: readonly Block[];
}

/** All stories by their implementation, sorted; null where they cannot be had. */
export async function findStories(): Promise<Map<string, Story[]> | null> {
  const named = Deno.env.get("PINGRESS_HPACK_STORIES");
  const folder = named ?? join(cacheFolder(), "hpack-stories");
  if (named === undefined && !await exists(folder) && !await download(folder)) return null;
  return await storiesIn(folder);
}

async function storiesIn(folder: string): Promise<Map<string, Story[]>> {
  const found = new Map<string, Story[]>();
  for (const implementation of await namesIn(folder)) {
    const stories: Story[] = [];
    for (const file of await namesIn(join(folder, implementation))) {
      if (!/^story_\d+\.json$/.test(file)) continue;
      const text = await Deno.readTextFile(join(folder, implementation, file));
      const story = storyOf(`${implementation}/${file.replace(".json", "")}`, JSON.parse(text));
      // The folder with the heads alone has blocks without bytes.
      if (story.blocks.every(({ wire }) => wire !== undefined)) stories.push(story);
    }
    if (stories.length > 0) found.set(implementation, stories);
  }
  return found;
}

interface StoryFile {
  readonly cases: readonly {
    readonly wire: string;
    readonly headers: readonly Readonly<Record<string, string>>[];
    readonly header_table_size?: number;
  }[];
}

function storyOf(name: string, { cases }: StoryFile): Story {
  return {
    name,
    blocks: cases.map((one) => ({
      wire: one.wire,
      fields: one.headers.flatMap((header) => Object.entries(header)),
      tableSize: one.header_table_size ?? null,
    })),
  };
}

/** Sorted; none for what is no folder. */
async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) names.push(name);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotADirectory)) throw error;
  }
  return names.sort();
}

/**
 * Takes the cases out of Debian's source package, from where this machine's packages come, with
 * lists of its own: nothing of the system changes, and no right of root is needed.
 */
async function download(target: string): Promise<boolean> {
  await Deno.mkdir(cacheFolder(), { recursive: true });
  const folder = await Deno.makeTempDir({ dir: cacheFolder() });
  try {
    const sources = await run("apt-get", [
      ...["indextargets", "--no-release-info"],
      ...["--format", "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages"],
    ]);
    if (sources === null) return false;
    const list = join(folder, "sources.list");
    await Deno.writeTextFile(list, [...new Set(sources.split("\n"))].join("\n"));
    for (const part of ["lists/partial", "cache/archives/partial", "stories"]) {
      await Deno.mkdir(join(folder, part), { recursive: true });
    }
    const options = [
      `Dir::Etc::SourceList=${list}`,
      "Dir::Etc::SourceParts=-",
      `Dir::State::Lists=${join(folder, "lists")}`,
      `Dir::Cache=${join(folder, "cache")}`,
      // As the user that this is: another could not write here.
      "APT::Sandbox::User=",
    ].flatMap((option) => ["-o", option]);
    const apt = (args: string[]) => run("apt-get", [...options, "-q=2", ...args], folder);
    if (await apt(["update"]) === null) return false;
    if (await apt(["--download-only", "source", "haskell-http2"]) === null) return false;
    const archive = (await namesIn(folder)).find((name) => name.includes(".orig.tar."));
    if (archive === undefined) return false;
    const unpacked = await run("tar", [
      ...["--extract", "--file", archive, "--directory", "stories", "--strip-components=3"],
      ...["--wildcards", "*/test-hpack/hpack-test-case/*/story_*.json"],
    ], folder);
    if (unpacked === null) return false;
    await Deno.rename(join(folder, "stories"), target);
    return true;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** What a program prints; null where it is missing or fails, which it says itself. */
async function run(program: string, args: string[], cwd?: string): Promise<string | null> {
  try {
    const { success, stdout } = await new Deno.Command(program, {
      args,
      cwd,
      stdin: "null",
      stderr: "inherit",
    }).output();
    return success ? new TextDecoder().decode(stdout) : null;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
