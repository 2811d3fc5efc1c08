/**
 * Groups of test files that share an isolate. In: the paths of test files. Out: groups, and the text
 * of a module that runs one. Pure.
 *
 * `deno test` gives each file an isolate, which loads all of its modules: to load 659 files and run none
 * of their tests takes 195 s of CPU, in groups of at most eight 46, and of sixteen 37. Files of a group are
 * imported one after the other into one isolate; the name of each test starts with its file, so that the
 * output names files and not groups.
 */

/** Not tuned: one isolate in sixteen is left, and a group is short beside the whole. */
const FILES_A_GROUP = 16;

/** @param files Those of one folder of `test.include`, in order: neighbours share most of their modules. */
export function groupFiles(files: readonly string[]): string[][] {
  return Array.from(
    { length: Math.ceil(files.length / FILES_A_GROUP) },
    (_, i) => files.slice(i * FILES_A_GROUP, (i + 1) * FILES_A_GROUP),
  );
}

/** Between a file and the name of a test in it; no path has it. */
const SEPARATOR = ": ";

/**
 * The module of a group; `root` is the URL of the folder that paths are relative to. Tests are registered as in a
 * file of their own, but for `Deno.test.beforeAll` and its like, which would apply to the whole group.
 */
export function groupModule(files: readonly string[], root: URL): string {
  const imports = files.map((file) =>
    `Deno.test = testsOf(${JSON.stringify(file)});\n` +
    `await import(${JSON.stringify(new URL(file, root).href)});\n`
  );
  return `const { test } = Deno;
const testsOf = (file) => {
  const named = (name) => file + ${JSON.stringify(SEPARATOR)} + name;
  const naming = (register) => (first, ...rest) => {
    if (typeof first === "string") register(named(first), ...rest);
    else if (typeof first === "function") register(named(first.name), first);
    else register({ ...first, name: named(first.name ?? rest[0]?.name) }, ...rest);
  };
  return Object.assign(naming(test), { ignore: naming(test.ignore), only: naming(test.only) });
};
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
