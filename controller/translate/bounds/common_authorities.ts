/**
 * Authorities that were trusted before and are still to be. In: those that were published, and those that are asked
 * for. Out: the published ones without those that are not asked for any more.
 */
import type { PemText } from "../../../shared/snapshot/types.ts";
import { ObjectCache } from "../../base/memo.ts";

const END = "-----END CERTIFICATE-----\n";

export class CommonAuthorities {
  /** Of each that is asked for: a bundle has 256 KiB, and many upstreams name it. */
  readonly #bodies = new ObjectCache((wanted: PemText) => new Set(blocksOf(wanted).map(bodyOf)));
  /** By those that are asked for, and were published. */
  readonly #known = new ObjectCache((wanted: PemText) =>
    new ObjectCache((published: PemText) => commonOf(published, this.#bodies.of(wanted)))
  );

  /** The very same as `published` where all of them are asked for; null for none. */
  of(published: PemText, wanted: PemText): PemText | null {
    return this.#known.of(wanted).of(published);
  }
}

function commonOf(published: PemText, wanted: ReadonlySet<string>): PemText | null {
  const blocks = blocksOf(published);
  const common = blocks.filter((block) => wanted.has(bodyOf(block)));
  if (common.length === blocks.length) return published;
  return common.length === 0 ? null : { kind: "pem", pem: common.join("") };
}

/** Each with its end line. */
function blocksOf({ pem }: PemText): readonly string[] {
  return pem.split(END).slice(0, -1).map((block) => block + END);
}

/** The same for lines of any length. */
function bodyOf(block: string): string {
  return block.replaceAll("\n", "");
}
