/**
 * The annotations of ingress-nginx of one Ingress. In: its `metadata.annotations`, of unknown shape, and
 * its spec. Out: each annotation with its row, and the values that their types read.
 */
import { asList, asObject, fieldOf, isAbsent } from "../../../base/json.ts";
import { TextMemo } from "../../../base/text_memo.ts";
import { isCutText } from "../../../kube/excess.ts";
import { NO_DEFAULTS } from "../../model/global_settings.ts";
import type { Group, Row, Surroundings } from "./rows/row.ts";
import { trimmed, type ValueType } from "./rows/value.ts";
import { BY_NAME, isOff, type NamedRow, NGINX_PREFIX } from "./table.ts";

/** One annotation as it is written. */
export interface WrittenAnnotation {
  /** Without the prefix. */
  readonly name: string;
  /** Null for a name that ingress-nginx does not have. */
  readonly row: Row | null;
  /** Trimmed as its type says; null where it is not text. */
  readonly text: string | null;
  /** Whether it is not text since the stub of a large Ingress does not keep it. */
  readonly isCut: boolean;
  /** The annotation that counts in place of this alias; null where this one counts. */
  readonly replacedBy: string | null;
}

type ValueOf<R> = R extends Row<infer T> ? T : never;

export class NginxAnnotations {
  /** In the order of their names. */
  readonly written: readonly WrittenAnnotation[];
  readonly #table: ReadonlyMap<string, NamedRow>;
  readonly #texts: ReadonlyMap<string, string | null>;
  /** Names with a value, be it blank. */
  readonly #counting: ReadonlySet<string>;
  /** Names of those that are not kept. */
  readonly #cut: ReadonlySet<string>;
  readonly #surroundings: Surroundings;
  readonly #memo: TextMemo;
  readonly #defaults: ReadonlyMap<string, string>;

  /**
   * @param table Rows by names and aliases; tests have their own.
   * @param memo Of values that were read before; without it, those of this Ingress.
   * @param defaults Texts of the ConfigMap, by annotation.
   */
  constructor(
    annotations: unknown,
    spec: unknown,
    table = BY_NAME,
    memo = new TextMemo(),
    defaults: ReadonlyMap<string, string> = NO_DEFAULTS,
  ) {
    this.#table = table;
    this.#memo = memo;
    this.#defaults = defaults;
    const object = asObject(annotations) ?? {};
    const names = Object.keys(object).filter((name) => name.startsWith(NGINX_PREFIX)).sort();
    this.#texts = new Map(
      names.map((full) => {
        const name = full.slice(NGINX_PREFIX.length);
        return [name, textOf(object[full], table.get(name)?.row.value)];
      }),
    );
    this.#counting = new Set(
      names.filter((full) => !isAbsent(object[full]) && object[full] !== "")
        .map((full) => full.slice(NGINX_PREFIX.length)),
    );
    this.#cut = new Set(
      names.filter((name) => isCutText(object[name])).map((name) =>
        name.slice(NGINX_PREFIX.length)
      ),
    );
    this.written = [...this.#texts].map(([name, text]) => this.#written(name, text));
    this.#surroundings = { textOf: (name) => this.textOf(name), spec };
  }

  /**
   * The text of an annotation or, where it is missing or empty, of an alias; null where it is none. As in
   * ingress-nginx, blanks are not empty: their text is "", but no alias counts in their place.
   */
  textOf(name: string): string | null {
    return this.#texts.get(this.#aliasFor(name) ?? name) ?? null;
  }

  /** Whether the Ingress or the ConfigMap has a value for an annotation, be it invalid or cut. */
  isSet(name: string): boolean {
    const isOwn = this.#counting.has(this.#aliasFor(name) ?? name) && this.textOf(name) !== "";
    return isOwn || (this.#defaults.get(name) ?? "") !== "";
  }

  /** Whether the Ingress has entries of TLS, usable or not: ingress-nginx serves its hosts over HTTPS then. */
  get hasTls(): boolean {
    return (asList(fieldOf(this.#surroundings.spec, "tls")) ?? []).length > 0;
  }

  /** Whether an alias counts in place of the annotation. */
  isReplaced(name: string): boolean {
    return this.#aliasFor(name) !== null;
  }

  #aliasFor(name: string): string | null {
    if (this.#counting.has(name)) return null;
    const aliases = this.#table.get(name)?.row.aliases;
    return aliases?.find((each) => each !== name && this.#counting.has(each)) ?? null;
  }

  /**
   * The value of an annotation or, where it is missing, empty or invalid, of the ConfigMap; null where
   * that says nothing either.
   */
  valueOf<G extends Group, N extends keyof G & string>(group: G, name: N): ValueOf<G[N]> | null {
    const row = group[name];
    const text = this.textOf(name);
    const own = text === null || text === "" ? null : this.read(row, text);
    const byDefault = own === null ? this.#defaults.get(name) : undefined;
    return (byDefault === undefined ? own : this.read(row, byDefault)) as ValueOf<G[N]> | null;
  }

  /** The value of a text; null for one that is invalid. */
  read<T>({ value }: Pick<Row<T>, "value">, text: string): T | null {
    return this.#memo.of(value, text);
  }

  /** Annotations with these texts alone, by name, whose values are remembered with those here. */
  withTexts(texts: ReadonlyMap<string, string>): NginxAnnotations {
    const named = [...texts].map(([name, text]) => [NGINX_PREFIX + name, text]);
    return new NginxAnnotations(Object.fromEntries(named), null, this.#table, this.#memo);
  }

  /** Whether a value asks for nothing, or for nothing stricter than what is done without it. */
  isHarmless(row: Row, text: string | null): boolean {
    if (text === null) return false;
    if (isOff(row, text)) return true;
    const value = this.read(row, text);
    if (value === null) return false;
    const isAlone = row.protectsBeside?.every((name) => (this.textOf(name) ?? "") === "");
    return isAlone ?? row.isHarmless?.(value, this.#surroundings) ?? false;
  }

  /** Whether ingress-nginx does the same with a value as is done here; see `Row.isSame`. */
  isSame(row: Row, text: string | null): boolean {
    const value = text === null ? null : this.read(row, text);
    return value !== null && (row.isSame?.(value, this.#surroundings) ?? false);
  }

  /** Whether there is such an annotation, and its text was not kept. */
  isCut(name: string): boolean {
    return this.#cut.has(name);
  }

  #written(name: string, text: string | null): WrittenAnnotation {
    const known = this.#table.get(name);
    const isCut = this.isCut(name);
    if (known === undefined) return { name, row: null, text, isCut, replacedBy: null };
    const isReplaced = known.name !== name && this.#counting.has(known.name);
    return {
      name,
      row: known.row,
      ...{ text, isCut },
      replacedBy: isReplaced ? known.name : null,
    };
  }
}

/** YAML that was not quoted has booleans and numbers; the API has text alone. */
function textOf(value: unknown, type: ValueType<unknown> | undefined): string | null {
  if (isAbsent(value)) return "";
  if (typeof value === "string") return trimmed(value, type);
  return typeof value === "boolean" || typeof value === "number" ? String(value) : null;
}
