/**
 * Copies of fields with changes. In: fields that belong to somebody else. Out: fields in bytes of
 * their own, some of them dropped and some added.
 */
import { dropNamed } from "./field_values.ts";
import { Fields } from "./fields.ts";

/** CR and LF, which writers that copy whole lines look for behind a value. */
const LINE_END = 2;

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
