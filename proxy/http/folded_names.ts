/**
 * Names of fields as backends may read them. In: names that only the proxy may write. Out: fields without
 * those that some backend takes for one of them: CGI and its successors read `X-User`, `x_user` and
 * `X.User` alike.
 */
import { DROPPED, type Fields } from "./fields.ts";
import type { Body } from "./body.ts";

export class FoldedNames {
  readonly #names: ReadonlySet<string>;
  readonly #lengths: ReadonlySet<number>;
  readonly #prefixes: readonly string[];
  /** 1 for bytes with which such a name may begin: most fields need no string to be told apart. */
  readonly #firsts = new Uint8Array(256);

  /**
   * @param names in any case; a star is a byte like others (RFC 9110 §5.6.2).
   * @param prefixes of further names, in any case; "" is one of all.
   */
  constructor(names: readonly string[], prefixes: readonly string[] = []) {
    this.#names = new Set(names.map(folded));
    this.#lengths = new Set(names.map((name) => name.length));
    this.#prefixes = prefixes.map(folded);
    const firsts = new Set([...this.#names, ...this.#prefixes].map((name) => name.slice(0, 1)));
    for (let byte = 0; byte < 256; byte++) {
      const isFirst = firsts.has("") || firsts.has(folded(String.fromCharCode(byte)));
      this.#firsts[byte] = isFirst ? 1 : 0;
    }
  }

  /** @param names as above, but that one that ends with a star stands for all that begin so. */
  static withStars(names: readonly string[]): FoldedNames {
    const isPrefix = (name: string) => name.endsWith("*");
    return new FoldedNames(
      names.filter((name) => !isPrefix(name)),
      names.filter(isPrefix).map((name) => name.slice(0, -1)),
    );
  }

  has(name: string): boolean {
    if (!this.#lengths.has(name.length) && this.#prefixes.length === 0) return false;
    const text = folded(name);
    return this.#names.has(text) || this.#prefixes.some((prefix) => text.startsWith(prefix));
  }

  /** Drops every field with such a name. */
  dropFrom(fields: Fields): void {
    for (let i = 0; i < fields.count; i++) {
      if (fields.ids[i] === DROPPED || this.#firsts[fields.bytes[fields.nameStart(i)]] === 0) {
        continue;
      }
      if (this.has(fields.name(i))) fields.drop(i);
    }
  }
}

/** As CGI does it, which keeps letters and digits alone (RFC 3875 §4.1.18). */
function folded(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, "-");
}

/** A body whose trailers have none of some names; its bytes and its length are the same. */
export class BodyWithoutTrailers implements Body {
  readonly #body: Body;
  readonly #names: FoldedNames;
  #cleaned: Fields | null = null;

  constructor(body: Body, names: FoldedNames) {
    this.#body = body;
    this.#names = names;
  }

  get done(): boolean {
    return this.#body.done;
  }

  get trailers(): Fields | null {
    const { trailers } = this.#body;
    if (trailers !== null && trailers !== this.#cleaned) {
      this.#names.dropFrom(trailers);
      this.#cleaned = trailers;
    }
    return trailers;
  }

  /** Whether it has the bytes of `body`, and its length. */
  isAround(body: Body): boolean {
    return this.#body === body;
  }

  read(): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#body.read();
  }
}
