/**
 * Authorities that were trusted before and are still to be. In: those that were published, and those that are asked
 * for. Out: the published ones without those that are not asked for any more.
 */
import type { PemText } from "../../../shared/snapshot/types.ts";

const END = "-----END CERTIFICATE-----\n";

export class CommonAuthorities {
  /** By those that are asked for, and were published: a bundle has 256 KiB, and many upstreams name it. */
  readonly #known = new WeakMap<PemText, WeakMap<PemText, PemText | null>>();

  /** The very same as `published` where all of them are asked for; null for none. */
  of(published: PemText, wanted: PemText): PemText | null {
    let known = this.#known.get(wanted);
    if (known === undefined) this.#known.set(wanted, known = new WeakMap());
    let common = known.get(published);
    if (common === undefined) known.set(published, common = commonOf(published, wanted));
    return common;
  }
}

function commonOf(published: PemText, wanted: PemText): PemText | null {
  const asked = new Set(blocksOf(wanted).map(bodyOf));
  const blocks = blocksOf(published);
  const common = blocks.filter((block) => asked.has(bodyOf(block)));
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
