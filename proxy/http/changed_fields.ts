/**
 * Fields with changes. In: fields that belong to somebody else: a connection, or a filter. Out: a head
 * that refers to them where that will do, else copies, some of the fields dropped and some added.
 */
import { dropNamed, hasNamed } from "./field_values.ts";
import { Fields } from "./fields.ts";
import type { ResponseHead } from "./message.ts";

/** CR and LF, which writers that copy whole lines look for behind a value. */
const LINE_END = 2;

const NONE = new Fields();

/**
 * Replaces the fields of the names in `removed` (lower case) by those in `added`, which nobody changes
 * from now on. A response rarely has what a route removes: then nothing is copied.
 */
export function changeResponse(
  head: ResponseHead,
  removed: readonly Uint8Array[],
  added: Fields,
): void {
  head.fields = withoutNamed(head.fields, removed);
  head.extra = extended(head.extra, removed, added);
}

/** The extra fields of a head without those of the names in `removed`, and `added` behind them. */
export function extended(
  extra: Fields | null,
  removed: readonly Uint8Array[],
  added: Fields,
): Fields | null {
  if (extra === null) return added.count === 0 ? null : added;
  return changedFields(extra, removed, added);
}

/** `fields` where none has a name in `removed` (lower case), else a copy without those. */
export function withoutNamed(fields: Fields, removed: readonly Uint8Array[]): Fields {
  for (const name of removed) {
    if (hasNamed(fields, name)) return changedFields(fields, removed, NONE);
  }
  return fields;
}

/**
 * A copy of `fields` without those of the names in `removed` (lower case), and `added` behind it.
 * Indexes stay: what is dropped keeps its place.
 */
export function changedFields(
  fields: Fields,
  removed: readonly Uint8Array[],
  added: Fields,
): Fields {
  let start = fields.bytes.length;
  let end = 0;
  for (let i = 0; i < fields.count; i++) {
    start = Math.min(start, fields.nameStart(i), fields.valueStart(i));
    end = Math.max(end, fields.nameEnd(i), fields.valueEnd(i));
  }
  end = Math.min(end + LINE_END, fields.bytes.length);
  const size = Math.max(end - start, 0);
  const changed = Fields.sized(fields.count + added.count, size + added.bytes.length);
  const { bytes } = changed;
  if (size > 0) bytes.set(fields.bytes.subarray(start, end));
  bytes.set(added.bytes, size);
  append(changed, fields, -start);
  for (const name of removed) dropNamed(changed, name);
  append(changed, added, size);
  return changed;
}

function append(target: Fields, fields: Fields, shift: number): void {
  for (let i = 0; i < fields.count; i++) {
    target.push(
      fields.ids[i],
      fields.nameStart(i) + shift,
      fields.nameEnd(i) + shift,
      fields.valueStart(i) + shift,
      fields.valueEnd(i) + shift,
    );
  }
}
