/**
 * State of modules. In: the code of a file, formatted by `deno fmt`, with comments and the insides of
 * strings blanked (`codeOf`). Out: a clause for each declaration at the top of the module, or static
 * field of a class, that can change while the program runs.
 *
 * Tables are allowed: a declared type says that they cannot be changed (`ReadonlyMap`, `readonly T[]`).
 * What a call returns may hold a variable in its closure, so it needs such a type too.
 */

/** Such as `keeps "known", made by new WeakMap`. */
export function mutableState(code: string): string[] {
  return statementsOf(code, "").flatMap((statement) => {
    if (CLASS.test(statement)) return statementsOf(statement, "  ").flatMap(staticState);
    const variable = /^(?:export )?(let|var) (\S+?)[:;,\s]/.exec(statement);
    if (variable !== null) return [`declares ${variable[2]} with ${variable[1]}`];
    const constant = /^(?:export )?(?:default )?const ([^]+)/.exec(statement);
    return constant === null ? [] : constantState(constant[1]);
  });
}

const CLASS = /^(?:export )?(?:default )?(?:abstract )?class\b/;

/** Declarations at one level of indentation, each with all of its lines. */
function statementsOf(code: string, indentation: string): string[] {
  const statements: string[] = [];
  for (const line of code.split("\n")) {
    const isStart = line.startsWith(indentation) &&
      /^[^\s)\]}>]/.test(line.slice(indentation.length));
    if (isStart) statements.push(line.slice(indentation.length));
    else if (statements.length > 0) statements[statements.length - 1] += `\n${line}`;
  }
  return statements;
}

function staticState(member: string): string[] {
  const field = /^(?:private |protected |public )?static (readonly )?([#\w]+)(?=[:;\s?!])([^]*)/
    .exec(member);
  if (field === null || /^\s*\{/.test(field[3])) return [];
  const [, readonly, name, rest] = field;
  return readonly === undefined ? [`has a static ${name} that can be set`] : constantState(
    `${name}${rest}`,
  );
}

/** @param declared `name: type = initialiser`. */
function constantState(declared: string): string[] {
  const equals = declared.search(/\s=(?![=>])/);
  if (equals === -1) return [];
  const left = declared.slice(0, equals);
  const initialiser = declared.slice(equals + 2).trimStart();
  const colon = /^[{[]/.test(left) ? -1 : left.indexOf(":");
  const name = colon === -1 ? left : left.slice(0, colon);
  if (colon !== -1 && /^\s*(?:readonly\b|Readonly)/.test(left.slice(colon + 1))) return [];
  const atLoad = withoutFunctions(initialiser);
  const made = [...atLoad.matchAll(/\bnew\s+([\w.]+)/g)].map(([, one]) => one)
    .find((one) => one !== "RegExp");
  if (made !== undefined) return [`keeps ${name}, made by new ${made}`];
  if (/^(?:\[\s*\]|\{\s*\})/.test(atLoad)) return [`keeps ${name}, which is there to be filled`];
  const call = /^([A-Za-z_$][\w$.]*)(?:<[^()]*>)?\(/.exec(atLoad);
  return call === null || call[1] === "JSON.stringify"
    ? []
    : [`keeps ${name}, made by ${call[1]}()`];
}

/** The code with the bodies of functions blanked: they run later, if ever. */
function withoutFunctions(code: string): string {
  const levels = [{ isLater: false, isArrow: false }];
  let before = "";
  let kept = "";
  for (const [at, char] of [...code].entries()) {
    const level = levels[levels.length - 1];
    if (/^(?:=>|function\b)/.test(code.slice(at, at + 9))) level.isArrow = true;
    if (",;".includes(char)) level.isArrow = false;
    if (")]}".includes(char) && levels.length > 1) levels.pop();
    kept += level.isLater || level.isArrow ? " " : char;
    if ("([{".includes(char)) {
      const isBody = char === "{" && before === ")";
      levels.push({ isLater: level.isLater || level.isArrow || isBody, isArrow: false });
    }
    if (/\S/.test(char)) before = char;
  }
  return kept;
}
