/**
 * nghttp and h2load through the proxy. In: nghttp2's clients, which pad, split heads, shrink windows
 * and tables, and load. Out: every request answered whole, by HTTP/2.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { isInstalled, run } from "./debian_program.ts";
import { type Front, startFront } from "./front.ts";
import { findPrograms } from "./go_program.ts";
import { Origin, patternOf, type Received, sumOf, WAYS, withFiles } from "./origin.ts";

const BODY = patternOf(100_000);

/** One request, or several of the same, and what is unusual about them. */
interface Case {
  readonly what: string;
  readonly args: readonly string[];
  /** Bytes that are asked for; a body is sent to `/what` where it is null. */
  readonly size: number | null;
  /** Requests; 1 without it. */
  readonly count?: number;
}

const CASES: readonly Case[] = [
  { what: "GET", args: [], size: 10_000 },
  { what: "100 requests at once", args: [], size: 20_000, count: 100 },
  { what: "padding", args: ["--padding=255"], size: 1000 },
  { what: "a head in CONTINUATION", args: ["--continuation"], size: 1000 },
  { what: "a window of one byte", args: ["--window-bits=1"], size: 300 },
  { what: "a window of 1 KiB", args: ["--window-bits=10"], size: 300_000 },
  { what: "large windows", args: ["--window-bits=30", "-W30"], size: 5_000_000 },
  { what: "no table of its own", args: ["--header-table-size=0"], size: 1000 },
  { what: "no table of ours", args: ["--encoder-header-table-size=0"], size: 1000 },
  { what: "a table small and large", args: ["-c64", "-c4096"], size: 1000, count: 20 },
  { what: "no priorities", args: ["--no-rfc7540-pri"], size: 1000 },
  { what: "POST", args: [], size: null },
  {
    what: "POST of unknown length, with padding",
    args: ["--no-content-length", "-b9"],
    size: null,
  },
  { what: "POST that expects 100", args: ["--expect-continue"], size: null },
  {
    what: "POST with trailers",
    args: ["--no-content-length", "--trailer=x-sum: abc"],
    size: null,
  },
];

/** A row of nghttp's statistics: id, four times, status, size, path. */
const ROW = /^ *\d+ (?: *\+?[\d.]+[mun]?s){3} +(\d{3}) +([\d.]+[KMG]?) (\/\S*)$/gm;

async function nghttp(
  { what, args, size, count = 1 }: Case,
  base: string,
  file: string,
): Promise<void> {
  const path = size === null ? "/what" : `/bytes?n=${size}`;
  const { code, stdout, stderr } = await run("nghttp", [
    ...["--no-verify-peer", "--timeout=30", `--multiply=${count}`, ...args],
    ...(size === null ? ["--data", file] : ["--null-out", "--stat"]),
    base + path,
  ]);
  assert.equal(code, 0, stderr);
  if (size !== null) {
    const rows = [...stdout.matchAll(ROW)].map(([, status]) => Number(status));
    assert.deepEqual(rows, Array(count).fill(200), `${what}: ${stdout}${stderr}`);
    return;
  }
  const came: Received = JSON.parse(stdout);
  assert.deepEqual([came.method, came.length, came.sum], ["POST", BODY.length, sumOf(BODY)]);
  // They end at the proxy where the backend speaks HTTP/1.1: some merge them into the fields.
  const isKept = what.includes("trailers") && came.proto === "HTTP/2.0";
  const trailers = isKept ? { "x-sum": ["abc"] } : {};
  assert.deepEqual(came.trailers, trailers);
  assert.equal(came.declared, args.includes("--no-content-length") ? -1 : BODY.length);
}

/** What h2load is told to do, and how many requests it has then made. */
const LOADS: readonly { what: string; args: string[]; path: string; count: number }[] = [
  {
    what: "6,000 requests on 4 connections of 100 streams",
    args: ["-c4", "-m100"],
    path: "/bytes?n=100&length",
    count: 6000,
  },
  { what: "200 connections", args: ["-c200", "-m1"], path: "/bytes?n=100", count: 600 },
  {
    what: "windows of 1 KiB",
    args: ["-c4", "-m16", "-w10", "-W16"],
    path: "/bytes?n=100000",
    count: 200,
  },
  { what: "uploads", args: ["-c4", "-m50", "-d", "FILE"], path: "/what", count: 400 },
  { what: "no tables", args: ["-c2", "--header-table-size=0"], path: "/bytes?n=9", count: 200 },
];

async function h2load(
  { args, path, count }: (typeof LOADS)[number],
  base: string,
  file: string,
): Promise<void> {
  const { code, stdout, stderr } = await run("h2load", [
    ...[`-n${count}`, ...args.map((arg) => arg === "FILE" ? file : arg)],
    base + path,
  ]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Application protocol: h2c?$/m);
  assert.match(stdout, new RegExp(`^requests: .* ${count} succeeded, 0 failed, 0 errored`, "m"));
  assert.match(stdout, new RegExp(`^status codes: ${count} 2xx`, "m"));
}

function basesOf({ port, securePort }: Front): [string, string][] {
  return [
    ["prior knowledge", `http://127.0.0.1:${port}`],
    ["TLS", `https://127.0.0.1:${securePort}`],
  ];
}

Deno.test("nghttp gets complete responses, whatever the backend speaks", async (t) => {
  if (!await isInstalled(t.name, "nghttp", "nghttp2-client")) return;
  const found = await findPrograms(t.name, ["origin"]);
  if (found === null) return;
  await using origin = await Origin.start(found[0]);
  await withFiles({ body: BODY }, async (folder) => {
    for (const { port, protocol, arrives } of WAYS) {
      await using front = await startFront({ protocol, ports: [origin.ports[port]] });
      for (const [way, base] of basesOf(front)) {
        await t.step(`${way} to ${arrives} on ${port}`, async (t) => {
          for (const one of CASES) {
            await t.step(one.what, () => nghttp(one, base, join(folder, "body")));
          }
        });
      }
    }
  });
});

Deno.test("no request of h2load fails, whatever the backend speaks", async (t) => {
  if (!await isInstalled(t.name, "h2load", "nghttp2-client")) return;
  const found = await findPrograms(t.name, ["origin"]);
  if (found === null) return;
  await using origin = await Origin.start(found[0]);
  await withFiles({ body: BODY }, async (folder) => {
    // ALPN has been chosen by the other clients.
    for (const { port, protocol, arrives } of WAYS.slice(0, 3)) {
      await using front = await startFront({ protocol, ports: [origin.ports[port]] });
      for (const [way, base] of basesOf(front)) {
        await t.step(`${way} to ${arrives} on ${port}`, async (t) => {
          for (const one of LOADS) {
            await t.step(one.what, () => h2load(one, base, join(folder, "body")));
          }
        });
      }
    }
  });
});
