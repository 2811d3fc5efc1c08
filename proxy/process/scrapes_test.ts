import assert from "node:assert/strict";
import { LineOutput } from "../../shared/log.ts";
import { TelemetryHub } from "../telemetry/hub.ts";
import { metricsHandler } from "./admin_handlers.ts";
import { type Scrape, Scrapes } from "./scrapes.ts";

const MAX = 8;

/** Scrapes with a clock of their own, and the names of those that were ended. */
class Readers {
  now = 0;
  readonly closed: number[] = [];
  readonly scrapes = new Scrapes(() => this.now);

  begin(name: number): Scrape | null {
    return this.scrapes.begin(() => void this.closed.push(name));
  }

  /** As many as there may be. */
  fill(): Scrape[] {
    return Array.from({ length: MAX }, (_, i) => this.begin(i)!);
  }
}

function endless(): Iterator<string> {
  return { next: () => ({ value: "a", done: false }) };
}

Deno.test("a scrape finds no room beside eight that are read, and finds it once one has ended", () => {
  const readers = new Readers();
  const scrapes = readers.fill();
  assert.equal(readers.begin(MAX), null);
  scrapes[3].end();
  assert.notEqual(readers.begin(MAX), null);
  assert.equal(readers.begin(MAX + 1), null);
  assert.deepEqual(readers.closed, []);
});

Deno.test("a scrape whose last piece was made holds no place", () => {
  const readers = new Readers();
  const [scrape] = readers.fill();
  const pieces = scrape.pieces(["a", "b"].values());
  assert.deepEqual([pieces.next().value, pieces.next().value], ["a", "b"]);
  assert.equal(readers.begin(MAX), null);
  assert.equal(pieces.next().done, true);
  assert.notEqual(readers.begin(MAX), null);
});

Deno.test("the scrape that was not read for longest gives way, none that is being read does", () => {
  const readers = new Readers();
  const pieces = readers.fill().map((scrape) => scrape.pieces(endless()));
  readers.now = 200;
  for (const [i, each] of pieces.entries()) if (i !== 5) each.next();
  assert.equal(readers.begin(MAX), null);
  readers.now = 250;
  assert.notEqual(readers.begin(MAX), null);
  assert.equal(readers.begin(MAX + 1), null);
  assert.deepEqual(readers.closed, [5]);
});

const ABOUT = { version: "", limits: { connections: 0, memoryBytes: 0 } };

Deno.test("a scrape without room gets 503 with Retry-After, and another one as soon as there is some", async () => {
  const hub = new TelemetryHub({
    accessLog: null,
    output: new LineOutput({ write: ({ length }) => Promise.resolve(length) }),
  });
  const handler = metricsHandler({ ...ABOUT, hub });
  const scrape = () =>
    handler(new Request("http://a.test/metrics"), { address: "127.0.0.1", close() {} });
  // In one turn of the event loop, so that no page has been made when the last one begins.
  const responses = await Promise.all(Array.from({ length: MAX + 1 }, scrape));
  assert.deepEqual(responses.map(({ status }) => status), [...new Array(MAX).fill(200), 503]);
  assert.equal(responses[MAX].headers.get("retry-after"), "1");
  for (const response of responses) await response.body?.cancel();
  assert.equal((await scrape()).status, 200);
});
