import assert from "node:assert/strict";
import { Block, cellAt, indexInChunk, placeOf, ROUTE_CELLS, TOTALS } from "./block.ts";
import { METRICS } from "./catalogue.ts";
import { NONE_SLOT, RouteSlots } from "./route_slots.ts";
import { scrape, type Scraped } from "./scrape.ts";
import { StreamStats } from "../config/stream/stream_stats.ts";
import { SNAPSHOT_FORMAT } from "../../shared/snapshot/types.ts";

/** With one of everything that is shown only where it is there. */
function scraped(block: Block): Scraped {
  const stats = new StreamStats(() => 0);
  return {
    blocks: [block],
    slots: new RouteSlots(() => 0),
    inForce: {
      snapshot: {
        format: SNAPSHOT_FORMAT,
        version: { epoch: "test", seen: { Ingress: "1" } },
        routes: [],
        defaultAction: null,
        upstreams: [],
        certificates: [],
        defaultCertificate: null,
      },
      age: 0,
    },
    certificates: {
      usable: [{ hosts: ["a.example.com"], isDefault: false, name: "default/a", validTo: 0 }],
      refused: 0,
    },
    loads: { applied: 0, refused: 0 },
    workers: { running: 1, restarts: 0, stalls: 0 },
    stream: { ...stats.scraped, syncAge: 0 },
    spans: {
      exported: 1,
      dropped: { error_limit: 1, queue_full: 1, rejected: 1, unavailable: 1 },
    },
    linesDropped: 0,
    about: { version: "0", deno: "0", startedAt: 0, now: 0, memory: 0 },
  };
}

function textOf(block: Block): string {
  return [...scrape(scraped(block))].join("");
}

/** In which all of a route without a slot of its own has been counted once. */
function busyBlock(): Block {
  const block = new Block();
  block.addChunk();
  const cells = block.chunkOf(NONE_SLOT)!;
  for (let cell = 0; cell < ROUTE_CELLS; cell++) {
    cells[cellAt(indexInChunk(NONE_SLOT), cell)] = 1;
  }
  return block;
}

Deno.test("every metric of the catalogue is exposed, and no other", () => {
  const block = busyBlock();
  const types = [...textOf(block).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
  assert.deepEqual(types.toSorted(), Object.keys(METRICS).toSorted());
});

Deno.test("everything that workers count is exposed", () => {
  const before = textOf(new Block());
  for (const total of TOTALS) {
    const block = new Block();
    block.totals[placeOf(total)] = 7;
    assert.notEqual(textOf(block), before, total);
  }
});
