/**
 * HPACK between us and others: heads that other implementations have encoded are what they were to
 * ours, and what ours encodes is read back by Go's. In: the public test cases. Out: every head, field
 * by field.
 */
import assert from "node:assert/strict";
import { latin1 } from "../../proxy/http/fields.ts";
import { HpackDecoder } from "../../proxy/http2/hpack/decoder.ts";
import { HpackEncoder } from "../../proxy/http2/hpack/encoder.ts";
import { type FieldLines, META } from "../../proxy/http2/hpack/field_lines.ts";
import { HeadBlock } from "../../proxy/http2/hpack/head_block.ts";
import { type Field, fromHex, toHex, writeHead } from "../support/hpack_heads.ts";
import { findPrograms, skip } from "./go_program.ts";
import { HpackPeer } from "./hpack_peer.ts";
import { findStories, MISSING, type Story } from "./hpack_stories.ts";

/** Larger than any head of a story, and SETTINGS_HEADER_TABLE_SIZE before any is sent. */
const ROOM = 256 * 1024;
const TABLE_SIZE = 4096;

/** Sizes that a peer may announce, in turn: what the encoder must follow at once. */
const TABLE_SIZES = [4096, 0, 256, 1024, 65_536, 100, 4096];

Deno.test("heads encoded by others are decoded correctly", async (t) => {
  const stories = await findStories();
  if (stories === null) return void skip("the HPACK test cases", MISSING);
  for (const [implementation, told] of stories) {
    await t.step(`${implementation}: ${told.length} stories`, () => {
      for (const { name, blocks } of told) {
        const decoder = new HpackDecoder(largest(blocks.map(({ tableSize }) => tableSize)));
        for (const [i, { wire, fields }] of blocks.entries()) {
          assert.deepEqual(decode(decoder, wire), fields, `${name}, block ${i}`);
        }
      }
    });
  }
  assert.ok(stories.size >= 11, `only by ${[...stories.keys()]}`);
});

Deno.test("heads that we encode are decoded by Go's HPACK", async (t) => {
  const heads = await headsOfStories(t.name);
  const found = await findPrograms(t.name, ["hpack"]);
  if (heads === null || found === null) return;
  await using peer = HpackPeer.start(found[0]);

  await t.step("with the initial table size", async () => {
    for (const { name, blocks } of heads) {
      const encoder = new HpackEncoder();
      const wires = blocks.map(({ fields }) => encode(encoder, fields));
      const answers = await peer.askAll(wires.map((wire, i) => ({ decode: wire, fresh: i === 0 })));
      for (const [i, answer] of answers.entries()) {
        assert.deepEqual(answer.fields, blocks[i].fields, `${name}, block ${i}: ${answer.error}`);
      }
    }
  });

  await t.step("with a table that the peer shrinks and grows", async () => {
    for (const { name, blocks } of heads) {
      const encoder = new HpackEncoder();
      const sizes = blocks.map((_, i) => i % 3 === 1 ? TABLE_SIZES[i % TABLE_SIZES.length] : null);
      const wires = blocks.map(({ fields }, i) => {
        const size = sizes[i];
        if (size !== null) encoder.setTableLimit(size);
        return encode(encoder, fields);
      });
      const answers = await peer.askAll(
        wires.map((wire, i) => ({ decode: wire, fresh: i === 0, limit: sizes[i] })),
      );
      for (const [i, answer] of answers.entries()) {
        assert.deepEqual(answer.fields, blocks[i].fields, `${name}, block ${i}: ${answer.error}`);
      }
    }
  });
});

Deno.test("heads encoded by Go's HPACK are decoded correctly", async (t) => {
  const heads = await headsOfStories(t.name);
  const found = await findPrograms(t.name, ["hpack"]);
  if (heads === null || found === null) return;
  await using peer = HpackPeer.start(found[0]);
  for (const { name, blocks } of heads) {
    const decoder = new HpackDecoder(65_536);
    const answers = await peer.askAll(blocks.map(({ fields }, i) => ({
      encode: fields,
      fresh: i === 0,
      // Smaller than what we announce is its choice.
      limit: i % 4 === 2 ? TABLE_SIZES[i % TABLE_SIZES.length] : null,
      sensitive: i % 5,
    })));
    for (const [i, { wire }] of answers.entries()) {
      assert.deepEqual(decode(decoder, wire!), blocks[i].fields, `${name}, block ${i}`);
    }
  }
});

/**
 * The heads of one implementation's stories: those of the others are the same. Without blanks around
 * values, which our encoder is never given.
 */
async function headsOfStories(test: string): Promise<Story[] | null> {
  const stories = await findStories();
  if (stories === null) return skip(test, MISSING);
  return stories.get("nghttp2")!.map(({ name, blocks }) => ({
    name,
    blocks: blocks.map((block) => ({
      ...block,
      fields: block.fields.map(([name, value]): Field => [name, value.trim()]),
    })),
  }));
}

/**
 * Every field as it is decoded, also those that RFC 9113 forbids: stories have blanks around values,
 * and pseudo-fields behind others.
 */
class Recorder extends HeadBlock {
  readonly found: Field[] = [];

  override addLine(lines: FieldLines, slot: number): void {
    const [start, nameEnd, end] = lines.meta.subarray(slot * META);
    this.#add(lines.bytes, start, nameEnd, end);
    super.addLine(lines, slot);
  }

  override addLiteral(
    bytes: Uint8Array,
    start: number,
    nameEnd: number,
    end: number,
    info: number,
  ): void {
    this.#add(bytes, start, nameEnd, end);
    super.addLiteral(bytes, start, nameEnd, end, info);
  }

  override get isOpen(): boolean {
    return true;
  }

  #add(bytes: Uint8Array, start: number, nameEnd: number, end: number): void {
    this.found.push([latin1(bytes, start, nameEnd), latin1(bytes, nameEnd + 2, end)]);
  }
}

/** The fields in their order, of which the head has kept those before the first that is forbidden. */
function decode(decoder: HpackDecoder, wire: string): readonly Field[] {
  const head = new Recorder();
  head.begin(ROOM, ROOM, false);
  const bytes = fromHex(wire);
  assert.equal(decoder.decode(bytes, 0, bytes.length, head), null);
  const regular = head.found.filter(([name]) => !name.startsWith(":"));
  const kept = Array.from({ length: head.fields.count }, (_, i): Field => [
    head.fields.name(i),
    head.fields.value(i),
  ]);
  assert.deepEqual(kept, regular.slice(0, kept.length));
  const isForbidden = ([name, value]: Field, i: number) =>
    /^[ \t]|[ \t]$/.test(value) ||
    (name.startsWith(":") && head.found.slice(0, i).some(([before]) => !before.startsWith(":")));
  assert.equal(head.malformed !== null, head.found.some(isForbidden));
  if (head.malformed === null) assert.equal(kept.length, regular.length);
  return head.found;
}

const out = new Uint8Array(ROOM);

function encode(encoder: HpackEncoder, fields: readonly Field[]): string {
  return toHex(out.subarray(0, writeHead(encoder, out, fields)));
}

function largest(sizes: readonly (number | null)[]): number {
  return Math.max(TABLE_SIZE, ...sizes.filter((size) => size !== null));
}
