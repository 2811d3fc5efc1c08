/**
 * HPACK's decoder on mutated header blocks, beside a slow and simple decoder. In: a seed, a time or a
 * number of inputs. Out: the series of blocks on which the two differ, a limit is passed, or an
 * exception is thrown.
 *
 * An input is a series, as the blocks of a connection share a table: what one does to it shows in
 * those behind it.
 */
import { HpackDecoder } from "../../proxy/http2/hpack/decoder.ts";
import { HpackEncoder } from "../../proxy/http2/hpack/encoder.ts";
import { HeadBlock } from "../../proxy/http2/hpack/head_block.ts";
import { STATIC_COUNT, STATIC_TABLE } from "../../proxy/http2/hpack/static_table.ts";
import { type Field, headers, join } from "../support/h2_frames.ts";
import { HeadDecoder } from "../support/h2_hpack.ts";
import { rawLiteral, toHex, writeHead } from "../support/hpack_heads.ts";
import { keep, readCorpus } from "./corpus.ts";
import { splitFrames } from "./frame_list.ts";
import { replaced } from "./mutation.ts";
import type { Random } from "./random.ts";

/** What the simple decoder lets pass, and ours refuses as RFC 7541 says. */
const STRICTER = [
  "integer cut short or too large",
  "table size update behind a field",
  "table size update past the limit",
];

const TABLE_SIZE = 4096;
const MAX_BYTES = 4096;
const MAX_FIELDS = 40;
/** Blocks of a series. */
const MAX_BLOCKS = 20;

/** Pieces of blocks that mean something where a field may begin, or in the middle of one. */
const PIECES: readonly (readonly number[])[] = [
  [0x80],
  [0xbe],
  [0xbf],
  [0xff, 0x00],
  [0xff, 0x80, 0x01],
  [0xff, 0xff, 0xff, 0xff, 0x7f],
  [0x20],
  [0x3f, 0x01],
  [0x3f, 0xe1, 0x1f],
  [0x3f, 0xe2, 0x1f],
  [0x40],
  [0x7e],
  [0x7f, 0x00],
  [0x00],
  [0x10],
  [0x0f, 0x2f],
  [0x81, 0xff],
  [0x82, 0x1f, 0xff],
  [0x84, 0x3f, 0xff, 0xff, 0xff],
  rawLiteral(0x40, "a", "b"),
  rawLiteral(0x10, "", ""),
  rawLiteral(0x40, "n".repeat(1000), "v".repeat(1000)),
  [...[0x3f, 0xe1, 0x3f], ...rawLiteral(0x40, "n", "v".repeat(5000))],
  rawLiteral(0x00, "Upper", " blank"),
  rawLiteral(0x40, ":path", "/"),
];

export interface HpackReport {
  readonly inputs: number;
  /** Header blocks that were read without an error. */
  readonly accepted: number;
  /** Why, and the blocks in hexadecimal. */
  readonly failures: readonly string[];
  /** Series added to the corpus because they come to what no other comes to. */
  readonly kept: number;
}

/** Series of our own making that join the corpus during a run. */
const MAX_POOL = 1024;

export class HpackFuzzer {
  readonly #random: Random;
  readonly #keepsNovel: boolean;
  readonly #pool: (readonly Uint8Array[])[];
  readonly #outcomes = new Set<string>();
  readonly #failures: string[] = [];
  #inputs = 0;
  #accepted = 0;
  #kept = 0;

  /** @param keepsNovel also adds to the corpus what comes to what no other series comes to. */
  constructor(random: Random, keepsNovel = false) {
    this.#random = random;
    this.#keepsNovel = keepsNovel;
    this.#pool = readCorpus("header_blocks").map(({ bytes }) =>
      splitFrames(bytes).frames.map(({ payload }) => payload)
    );
  }

  /** Until `deadline` (ms, `performance.now`) or after `inputs` series, whichever comes first. */
  run(deadline: number, inputs = Infinity): HpackReport {
    const random = this.#random;
    for (const blocks of [...this.#pool]) this.check(blocks);
    while (
      this.#inputs < inputs && performance.now() < deadline && this.#failures.length === 0
    ) {
      const isNew = this.#pool.length === 0 || random.oneIn(2);
      this.check(isNew ? series(random) : mutateSeries(random.pick(this.#pool), random));
    }
    return {
      inputs: this.#inputs,
      accepted: this.#accepted,
      failures: this.#failures,
      kept: this.#kept,
    };
  }

  /** Adds to what the report says. */
  check(blocks: readonly Uint8Array[]): void {
    this.#inputs++;
    const decoder = new HpackDecoder(TABLE_SIZE);
    const simple = new HeadDecoder(TABLE_SIZE);
    const head = new HeadBlock();
    const outcomes: string[] = [];
    for (const block of blocks) {
      try {
        const error = decode(decoder, simple, head, block);
        outcomes.push(error ?? head.malformed ?? (head.tooLarge ? "too large" : "whole"));
        if (error !== null) break;
        this.#accepted++;
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        this.#failures.push(`${why}: ${blocks.map(toHex).join(" ")}`);
        return;
      }
    }
    this.#remember(blocks, outcomes);
  }

  /** A series whose last two outcomes are new joins the pool; one whose last is, the corpus. */
  #remember(blocks: readonly Uint8Array[], outcomes: readonly string[]): void {
    const last = outcomes.at(-1) ?? "";
    const both = outcomes.slice(-2).join(", then ");
    const isNew = !this.#outcomes.has(last);
    if (!this.#outcomes.has(both) && this.#pool.length < MAX_POOL && !this.#pool.includes(blocks)) {
      this.#pool.push(blocks);
    }
    this.#outcomes.add(both);
    this.#outcomes.add(last);
    if (!isNew || !this.#keepsNovel) return;
    keep("header_blocks", "found", join(...blocks.map((block) => headers(1, block))));
    this.#kept++;
  }
}

/** Decodes by both, and throws where they differ; else what ours says is wrong with the block. */
function decode(
  decoder: HpackDecoder,
  simple: HeadDecoder,
  head: HeadBlock,
  block: Uint8Array,
): string | null {
  head.begin(MAX_BYTES, MAX_FIELDS, false);
  // Behind the block stands what no decoder may read.
  const bytes = new Uint8Array(block.length + 8).fill(0xff);
  bytes.set(block, 3);
  const error = decoder.decode(bytes, 3, 3 + block.length, head);
  let fields: Field[] = [];
  let refusal: string | null = null;
  try {
    fields = simple.decode(block);
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    refusal = thrown.message;
  }
  if (error !== null) {
    if (refusal === null && !STRICTER.includes(error)) throw new Error(`refused alone: ${error}`);
    return error;
  }
  if (refusal !== null) throw new Error(`taken, and not by the simple decoder: ${refusal}`);
  compare(head, fields);
  if (decoder.tableSize > TABLE_SIZE) throw new Error(`a table of ${decoder.tableSize} bytes`);
  return null;
}

/** Throws unless `head` is what `fields` make of it. */
function compare(head: HeadBlock, fields: readonly Field[]): void {
  let size = 0;
  let kept = 0;
  for (const [name, value] of fields) {
    size += name.length + value.length + 32;
    if (name.startsWith(":")) continue;
    if (kept === head.fields.count) continue;
    if (head.fields.name(kept) !== name || head.fields.value(kept) !== value) {
      throw new Error(`${head.fields.name(kept)} in place of ${name}`);
    }
    kept++;
  }
  if (head.size !== size) throw new Error(`size ${head.size} in place of ${size}`);
  if (kept !== head.fields.count) throw new Error(`${head.fields.count} fields, not ${kept}`);
  if (head.fields.bytes.length > 2 * MAX_BYTES) throw new Error("more memory than allowed");
  if (head.tooLarge || head.malformed !== null) return;
  const regular = fields.filter(([name]) => !name.startsWith(":"));
  if (regular.length !== kept) throw new Error(`${kept} fields kept of ${regular.length}`);
  if (size > MAX_BYTES || kept > MAX_FIELDS) throw new Error("more than the limits allow");
  for (const [name, value] of fields) {
    if (/[A-Z]/.test(name) || /[\0\r\n]|^[ \t]|[ \t]$/.test(value) || name === "") {
      throw new Error(`nothing wrong with ${JSON.stringify([name, value])}`);
    }
  }
  const pseudo = [
    [":method", head.method],
    [":scheme", head.scheme],
    [":authority", head.authority],
    [":path", head.path],
    [":protocol", head.protocol],
    [":status", head.status === -1 ? null : String(head.status)],
  ];
  for (const [name, value] of pseudo) {
    const found = fields.find((field) => field[0] === name)?.[1] ?? null;
    if (found !== value) throw new Error(`${name} is ${value} in place of ${found}`);
  }
}

/** Blocks of one connection: what an encoder says, and mostly something else here and there. */
function series(random: Random): Uint8Array[] {
  const encoder = new HpackEncoder(
    new Uint8Array(STATIC_COUNT + 1).fill(random.below(2)),
  );
  const known = Array.from({ length: 8 }, () => randomField(random));
  const blocks: Uint8Array[] = [];
  const out = new Uint8Array(16_384);
  for (let i = random.between(1, 6); i > 0; i--) {
    if (random.oneIn(6)) encoder.setTableLimit(random.pick([0, 40, 200, 4096]));
    const fields: Field[] = random.oneIn(2) ? [[":status", "200"]] : [
      [":method", random.pick(["GET", "POST", "PUT"])],
      [":path", random.pick(["/", "/a?b"])],
    ];
    for (let j = random.below(6); j > 0; j--) {
      fields.push(random.oneIn(3) ? randomField(random) : random.pick(known));
    }
    let block: Uint8Array = out.slice(0, writeHead(encoder, out, fields));
    while (random.oneIn(2)) block = mutateBlock(block, random);
    blocks.push(block);
  }
  return blocks;
}

/** A series with some of its blocks changed, moved, taken out or doubled. */
function mutateSeries(blocks: readonly Uint8Array[], random: Random): Uint8Array[] {
  const mutated = [...blocks];
  do {
    const at = random.below(mutated.length + 1);
    const block = mutated[at];
    if (block === undefined) mutated.push(random.pick(blocks));
    else if (!random.oneIn(4)) mutated[at] = mutateBlock(block, random);
    else if (random.oneIn(2) && mutated.length > 1) mutated.splice(at, 1);
    else mutated.splice(random.below(mutated.length), 0, block);
  } while (random.oneIn(2));
  return mutated.slice(0, MAX_BLOCKS);
}

function randomField(random: Random): Field {
  const name = random.oneIn(2)
    ? random.pick(STATIC_TABLE.slice(14))[0]
    : "abcdefgh-_".slice(random.below(9));
  const text = Array.from(
    { length: random.below(random.oneIn(10) ? 600 : 12) },
    () => String.fromCharCode(random.between(0x21, 0xff)),
  );
  return [name, text.join("").replace(/[\x7f-\x9f]/g, "")];
}

const NOTHING = new Uint8Array(0);

/** `block` with one change: of a byte, a bit, a range, or with a piece put in. */
export function mutateBlock(block: Uint8Array, random: Random): Uint8Array {
  const at = random.below(block.length + 1);
  const end = Math.min(block.length, at + random.between(1, 8));
  switch (random.below(7)) {
    case 0:
      return replaced(block, at, Math.min(at + 1, end), Uint8Array.of(random.below(256)));
    case 1:
      if (at === block.length) return block;
      return replaced(block, at, at + 1, Uint8Array.of(block[at] ^ 1 << random.below(8)));
    case 2:
      return replaced(block, at, end, NOTHING);
    case 3:
      return replaced(block, end, end, block.slice(at, end));
    case 4:
      return block.slice(0, at);
    case 5:
      return replaced(block, at, end, Uint8Array.from(random.pick(PIECES)));
    default:
      return replaced(block, at, at, Uint8Array.from(random.pick(PIECES)));
  }
}
