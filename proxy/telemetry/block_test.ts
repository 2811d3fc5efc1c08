import assert from "node:assert/strict";
import {
  cellAt,
  CELLS,
  DURATION_BOUNDS,
  durationCell,
  METHODS,
  requestCell,
  ROUTE_CELLS,
  STATUS_CLASSES,
} from "./block.ts";
import { indexInChunk, SLOTS_PER_CHUNK } from "./chunks.ts";

const upTo = (count: number) => [...new Array(count).keys()];

Deno.test("each counter of a route has its own cell", () => {
  const requests = METHODS.flatMap((_, method) =>
    STATUS_CLASSES.map((_, status) => requestCell(method, status))
  );
  const durations = upTo(DURATION_BOUNDS.length + 1).map(durationCell);
  const sums = [CELLS.durationSum, CELLS.bytesIn, CELLS.bytesOut, CELLS.retries];
  const cells = [...requests, ...durations, ...sums].toSorted((a, b) => a - b);
  assert.deepEqual(cells, upTo(ROUTE_CELLS));
});

Deno.test("each cell of each route of a chunk has its own place, and no place is unused", () => {
  const places = upTo(SLOTS_PER_CHUNK).flatMap((slot) =>
    upTo(ROUTE_CELLS).map((cell) => cellAt(indexInChunk(slot), cell))
  );
  places.sort((a, b) => a - b);
  assert.deepEqual(places, upTo(SLOTS_PER_CHUNK * ROUTE_CELLS));
});

Deno.test("the counters of a small GET lie within 48 bytes", () => {
  const get = requestCell(METHODS.indexOf("GET"), STATUS_CLASSES.indexOf("2xx"));
  const cells = [get, durationCell(0), CELLS.durationSum, CELLS.bytesIn, CELLS.bytesOut];
  assert.ok(Math.max(...cells) - Math.min(...cells) < 6, String(cells));
});
