/**
 * Reading a value of unknown shape. In: parts of a configuration file with their JSON paths. Out:
 * the same parts with their types, and every mistake as a problem that names its place and what
 * to do about it. What is read here never ends up in a message whole: a file may hold keys.
 */

/** A mistake in a configuration file. */
export interface ConfigProblem {
  /** JSON path, for example `$.routes[3].path.value`; `$` is the whole file. */
  readonly path: string;
  /** What is wrong and what follows from it, one sentence without a full stop. */
  readonly message: string;
  /** What the user can do, one sentence without a full stop. */
  readonly remedy: string;
  /** `error`: something is not served as written. `warning`: served, but look at it. */
  readonly severity: "error" | "warning";
}

export type JsonObject = Readonly<Record<string, unknown>>;

const UNKNOWN_REMEDY = "remove it, or correct its name if it is a misspelt one";

/** Collects the problems of one file. Readers return null for what they have reported. */
export class ConfigCheck {
  #problems: ConfigProblem[] = [];
  #refusals: ConfigProblem[] = [];
  /** How often each unknown field was met, by kind of object and name. */
  #unknown = new Map<string, { first: string; count: number }>();

  /** The file as a whole cannot be used. */
  get refused(): boolean {
    return this.#refusals.length > 0;
  }

  /** Why, in the order in which they were found. */
  get refusals(): readonly ConfigProblem[] {
    return this.#refusals;
  }

  /** Everything found. A name that is unknown in many places is one problem. */
  problems(): ConfigProblem[] {
    const unknown = [...this.#unknown.values()].map(({ first, count }): ConfigProblem => ({
      path: first,
      message: "the field is not known and has no effect" +
        (count > 1 ? `, here and in ${count - 1} more ${count === 2 ? "place" : "places"}` : ""),
      remedy: UNKNOWN_REMEDY,
      severity: "warning",
    }));
    return [...this.#problems, ...unknown];
  }

  /** An error after which the file as a whole cannot be used. */
  refuse(path: string, message: string, remedy: string): null {
    this.error(path, message, remedy);
    this.#refusals.push(this.#problems[this.#problems.length - 1]);
    return null;
  }

  /** An error that costs only the part that it names. */
  error(path: string, message: string, remedy: string): null {
    this.#problems.push({ path, message, remedy, severity: "error" });
    return null;
  }

  warn(path: string, message: string, remedy: string): void {
    this.#problems.push({ path, message, remedy, severity: "warning" });
  }

  /** An object with its fields; those that are not among `known` are warned of. */
  object(value: unknown, path: string, known: readonly string[]): JsonObject | null {
    if (!isObject(value)) {
      return this.refuse(path, `an object is needed, not ${kindOf(value)}`, "write {…} here");
    }
    this.unknownFields(value, path, known);
    return value;
  }

  /** The JSON path of a field of the object at `path`. */
  member(path: string, name: string): string {
    return member(path, name);
  }

  unknownFields(value: JsonObject, path: string, known: readonly string[]): void {
    for (const name of Object.keys(value)) {
      if (known.includes(name)) continue;
      const kind = `${path.replaceAll(/\[\d+\]/g, "[]")} ${name}`;
      const seen = this.#unknown.get(kind);
      if (seen === undefined) this.#unknown.set(kind, { first: member(path, name), count: 1 });
      else seen.count++;
    }
  }

  /**
   * What `read` makes of each element, but for those that it has reported. A missing array is
   * empty where `missing` is "empty".
   */
  array<T>(
    value: unknown,
    path: string,
    missing: "refused" | "empty",
    read: (value: unknown, path: string) => T | null,
  ): T[] {
    const results: T[] = [];
    if (value === undefined && missing === "empty") return results;
    if (!Array.isArray(value)) {
      this.refuse(path, `an array is needed, not ${kindOf(value)}`, "write […] here");
      return results;
    }
    for (let i = 0; i < value.length; i++) {
      const result = read(value[i], `${path}[${i}]`);
      if (result !== null) results.push(result);
    }
    return results;
  }

  string(value: unknown, path: string): string | null {
    if (typeof value === "string") return value;
    return this.refuse(path, `a text is needed, not ${kindOf(value)}`, 'write "…" here');
  }

  /** A text with at least one character. */
  name(value: unknown, path: string): string | null {
    if (value === "") return this.refuse(path, "it is empty", "write a name here");
    return this.string(value, path);
  }

  oneOf<T extends string | number>(value: unknown, path: string, choices: readonly T[]): T | null {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    return this.refuse(
      path,
      `${describe(value)} is none of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`,
      "write one of these, or use a proxy that is not older than the controller",
    );
  }

  port(value: unknown, path: string): number | null {
    if (isPort(value)) return value;
    return this.refuse(path, `${describe(value)} is no port`, "write a number from 1 to 65535");
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 65535;
}

/** Characters of a value that a message shows. */
const SHOWN = 60;

/** A value for a message: numbers and the beginning of texts as they are, others by their kind. */
export function describe(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") return kindOf(value);
  // It may be a private key, or a part of one.
  if (value.includes("-----")) return `a PEM text of ${value.length} characters`;
  if (value.length <= SHOWN) return JSON.stringify(value);
  return `${JSON.stringify(value.slice(0, SHOWN))}… (${value.length} characters)`;
}

/** What a value is where something else is needed; the value itself may be a misplaced secret. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? "a text" : `a ${typeof value}`;
}

/** The JSON path of a field: `$.a.b`, or `$.a["b c"]` where the name is no identifier. */
function member(path: string, name: string): string {
  if (/^[A-Za-z_$][\w$]{0,63}$/.test(name)) return `${path}.${name}`;
  return `${path}[${JSON.stringify(name.slice(0, SHOWN))}]`;
}
