/**
 * Groups of test files that share an isolate. In: the paths of test files. Out: groups, and the text
 * of a module that runs one. Pure.
 *
 * `deno test` gives each file an isolate, which loads all modules of its own: 0.25 s of CPU a file,
 * for 650 files a fifth of the whole. Files of a group are imported one after the other into one
 * isolate; each name starts with its file, so that the output names files and not groups.
 */

/** With more, a group takes so long that the cores wait for the last ones. */
const FILES_A_GROUP = 8;

/** Files in order, in groups of one folder each (`proxy/router`, with what is below). */
export function groupFiles(files: readonly string[]): string[][] {
  const groups: string[][] = [];
  let last = "";
  for (const file of files) {
    const folder = file.split("/").slice(0, 2).join("/");
    const group = groups.at(-1);
    if (group === undefined || folder !== last || group.length === FILES_A_GROUP) {
      groups.push([file]);
    } else group.push(file);
    last = folder;
  }
  return groups;
}

/** Between a file and the name of a test in it; no path has it. */
const SEPARATOR = ": ";

/** The module of a group; `root` is the URL of the folder that paths are relative to. */
export function groupModule(files: readonly string[], root: URL): string {
  const imports = files.map((file) =>
    `Deno.test = testsOf(${JSON.stringify(file)});\n` +
    `await import(${JSON.stringify(new URL(file, root).href)});\n`
  );
  return `const test = Deno.test;
const named = (file, name) => file + ${JSON.stringify(SEPARATOR)} + name;
const testsOf = (file) => (first, ...rest) =>
  typeof first === "string"
    ? test(named(file, first), ...rest)
    : test({ ...first, name: named(file, first.name) }, ...rest);
${imports.join("")}`;
}

const COLOUR = String.raw`(?:\x1b\[[\d;]*m)*`;
const NAME = String.raw`(\S+?_test\.ts)${SEPARATOR}`;
const VERDICT = new RegExp(
  String.raw`^(${COLOUR})\S*\.group\.ts =>(${COLOUR} ?${COLOUR})${NAME}`,
);
/** Of a test, whose place is the group, or of a step, which has its own. */
const FAILURE = new RegExp(
  String.raw`^${NAME}(.*) (${COLOUR}=> )(?:\S*\.group\.ts:\d+:\d+|\./\1(:\d+:\d+))(${COLOUR})$`,
);

/** A line of `deno test --parallel` over modules named `*.group.ts`, as it is without groups. */
export function ungroup(line: string): string {
  return line
    .replace(VERDICT, "$1./$3 =>$2")
    .replace(FAILURE, "$2 $3./$1$4$5");
}
