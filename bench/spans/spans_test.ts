/** That the benchmark compares the same spans. */
import assert from "node:assert/strict";
import { serveWithLibrary } from "./library_spans.ts";
import { serveWithTracer } from "./our_spans.ts";

interface SpanJson {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string | number };
  }[];
}

/** What does not differ between two requests: names, kinds, parents and attributes. */
function shapeOf(unsorted: readonly SpanJson[]): unknown {
  const spans = unsorted.toSorted((a, b) => a.kind - b.kind);
  return spans.map(({ name, kind, traceId, parentSpanId, attributes }) => ({
    name,
    kind,
    parent: spans.findIndex(({ spanId }) => spanId === parentSpanId),
    isOfTrace: traceId === spans[0].traceId,
    attributes: attributes.map(({ key, value: { stringValue, intValue } }) => [
      key,
      key === "pingress.request_id" ? "" : stringValue ?? String(intValue),
    ]).sort(([a], [b]) => a < b ? -1 : 1),
  }));
}

function textOf(serve: (take: (bytes: Uint8Array) => void) => void): string {
  let text = "";
  serve((bytes) => text += new TextDecoder().decode(bytes));
  return text;
}

Deno.test("the library makes the spans that are written by hand", () => {
  const ours = JSON.parse(`[${textOf((take) => serveWithTracer(1, 1, take)).slice(1)}]`);
  const theirs = JSON.parse(textOf((take) => serveWithLibrary(1, 1, "json", take)));
  const spans = theirs.resourceSpans[0].scopeSpans[0].spans;
  assert.equal(spans.length, 2);
  assert.deepEqual(shapeOf(ours), shapeOf(spans));
});

Deno.test("neither makes spans of requests that are not sampled", () => {
  assert.equal(textOf((take) => serveWithTracer(100, 0, take)), "");
  assert.equal(textOf((take) => serveWithLibrary(100, 0, "protobuf", take)), "");
});
