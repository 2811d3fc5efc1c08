/**
 * Floods of cheap frames by an HTTP/2 client. In: a connection. Out: endless frames, and how many
 * of them the proxy processed before its GOAWAY: counted by the last stream in it, by its resets,
 * or by its responses to PINGs in between.
 */
import assert from "node:assert/strict";
import type { AbuseReason } from "../../proxy/http2/abuse.ts";
import {
  CODE,
  data,
  FLAG,
  FRAME,
  frame,
  get,
  goAway,
  headers,
  join,
  ping,
  post,
  priority,
  rstStream,
  SETTING,
  settings,
  SETTINGS_ACK,
  u32,
  windowUpdate,
} from "./h2_frames.ts";
import { bytesOf } from "./latin1.ts";
import type { H2Peer } from "./h2_peer.ts";

/** How many units of an attack were taken before the connection was cut. */
export type Count = (peer: H2Peer) => number;

export interface Flood {
  readonly says: string;
  readonly reason: AbuseReason;
  /** Units that are within the limit. */
  readonly limit: number;
  /** Done first. */
  readonly before?: (peer: H2Peer) => Promise<unknown>;
  /** One unit, the `index`th of a connection. */
  readonly unit: (peer: H2Peer, index: number) => Uint8Array;
  readonly count: Count;
  /** Units sent in all. */
  readonly sent: number;
}

const RESETS = 100;
const CONTROL = 1_000;
/** Streams that a connection may have: each of them is used where windows are changed. */
export const STREAMS = 128;

const byLastStream: Count = (peer) => ((peer.goAway?.last ?? 0) + 1) / 2;
export const byResets: Count = (peer) => peer.count(FRAME.RST_STREAM);
export const byPings: Count = (peer) => peer.count(FRAME.PING) * PINGED;
const bySettings: Count = (peer) =>
  peer.frames.filter(({ type, flags }) => type === FRAME.SETTINGS && (flags & FLAG.ACK)).length;

/** A PING is sent behind so many units. */
export const PINGED = 20;

function pinged(unit: Flood["unit"]): Flood["unit"] {
  return (peer, index) =>
    index % PINGED === PINGED - 1 ? join(unit(peer, index), ping(index)) : unit(peer, index);
}

/** A stream that stays open, for what is sent on it. */
async function openStream(peer: H2Peer): Promise<void> {
  await peer.send(headers(peer.nextStream(), post("/hold")));
}

/** A stream for each unit: a request of an answer that never comes, and what follows it. */
function onNewStream(
  follows: (stream: number) => Uint8Array,
  options: { readonly end: boolean },
): Flood["unit"] {
  return (peer) => {
    const stream = peer.nextStream();
    const head = headers(stream, options.end ? get("/hold") : post("/hold"), options);
    return join(head, follows(stream));
  };
}

/** What is sent on a stream that the proxy has reset or answered. */
export async function closedStream(peer: H2Peer): Promise<void> {
  assert.equal((await peer.ask("/canary")).status, 200);
}

const madeReset = { reason: "resets", limit: RESETS, count: byResets, sent: 10_000 } as const;
const control = { reason: "control_frames", limit: CONTROL, count: byPings, sent: 50_000 } as const;

export const FLOODS: readonly Flood[] = [
  {
    says: "rapid reset (CVE-2023-44487)",
    reason: "resets",
    limit: RESETS,
    unit: onNewStream(rstStream, { end: true }),
    count: byLastStream,
    sent: 10_000,
  },
  {
    says: "rapid reset of uploads",
    reason: "resets",
    limit: RESETS,
    unit: onNewStream((stream) => join(data(stream, "x"), rstStream(stream)), { end: false }),
    count: byLastStream,
    sent: 10_000,
  },
  {
    says: "made to reset by WINDOW_UPDATE of 0 (CVE-2025-8671)",
    ...madeReset,
    unit: onNewStream((stream) => windowUpdate(stream, 0), { end: true }),
  },
  {
    says: "made to reset by a window above 2^31-1",
    ...madeReset,
    unit: onNewStream((stream) => windowUpdate(stream, 0x7fffffff), { end: true }),
  },
  {
    says: "made to reset by PRIORITY of four bytes",
    ...madeReset,
    unit: onNewStream((stream) => frame(FRAME.PRIORITY, 0, stream, u32(0)), { end: true }),
  },
  {
    says: "made to reset by PRIORITY on the stream itself",
    ...madeReset,
    unit: onNewStream((stream) => priority(stream, stream), { end: true }),
  },
  {
    says: "made to reset by DATA after END_STREAM",
    ...madeReset,
    unit: onNewStream((stream) => data(stream, "x"), { end: true }),
  },
  {
    says: "made to reset by HEADERS after END_STREAM",
    ...madeReset,
    unit: onNewStream((stream) => headers(stream, get("/hold"), { end: true }), { end: true }),
  },
  {
    says: "made to reset by trailers without END_STREAM",
    ...madeReset,
    unit: onNewStream((stream) => headers(stream, [["a", "b"]]), { end: false }),
  },
  {
    says: "made to reset by malformed requests",
    ...madeReset,
    unit: (peer) => headers(peer.nextStream(), get("/hold", [["Upper", "x"]]), { end: true }),
  },
  {
    says: "made to reset by a body that is not as long as said",
    ...madeReset,
    unit: (peer) => {
      const stream = peer.nextStream();
      return join(
        headers(stream, post("/hold", [["content-length", "1"]])),
        data(stream, "xx", { end: true }),
      );
    },
  },
  {
    says: "more streams than allowed",
    reason: "resets",
    limit: RESETS,
    before: async (peer) => {
      for (let i = 0; i < STREAMS; i++) await openStream(peer);
    },
    unit: (peer) => headers(peer.nextStream(), post("/hold")),
    count: (peer) =>
      [...peer.streams.values()].filter(({ reset }) => reset === CODE.REFUSED_STREAM).length,
    sent: 1_000,
  },
  {
    says: "SETTINGS (CVE-2019-9515)",
    ...control,
    unit: () => settings(),
    count: bySettings,
  },
  {
    says: "SETTINGS that change the windows of all streams",
    reason: "control_frames",
    limit: CONTROL / 100,
    before: async (peer) => {
      for (let i = 0; i < STREAMS; i++) await openStream(peer);
    },
    unit: () =>
      settings(Array.from({ length: 100 }, (_, i) => [SETTING.INITIAL_WINDOW_SIZE, i % 2])),
    count: bySettings,
    sent: 1_000,
  },
  {
    says: "PING (CVE-2019-9512)",
    ...control,
    unit: (_peer, index) => ping(index),
    count: (peer) => peer.count(FRAME.PING),
  },
  { says: "PRIORITY", ...control, unit: pinged((_peer, i) => priority(1 + 2 * i)) },
  {
    says: "PRIORITY_UPDATE",
    ...control,
    unit: pinged(() => frame(FRAME.PRIORITY_UPDATE, 0, 0, join(u32(1), bytesOf("u=1")))),
  },
  { says: "frames of an unknown type", ...control, unit: pinged(() => frame(0xfa, 0xff, 0)) },
  {
    says: "full frames of an unknown type on a stream",
    ...control,
    before: openStream,
    unit: pinged(() => frame(0xfa, 0, 1, new Uint8Array(1024))),
    sent: 5_000,
  },
  { says: "WINDOW_UPDATE of the connection", ...control, unit: pinged(() => windowUpdate(0, 1)) },
  {
    says: "WINDOW_UPDATE of a stream",
    ...control,
    before: openStream,
    unit: pinged(() => windowUpdate(1, 1)),
  },
  {
    says: "WINDOW_UPDATE of a closed stream",
    ...control,
    before: closedStream,
    unit: pinged(() => windowUpdate(1, 1)),
  },
  {
    says: "RST_STREAM of a closed stream",
    ...control,
    before: closedStream,
    unit: pinged(() => rstStream(1)),
  },
  {
    says: "PRIORITY of a closed stream",
    ...control,
    before: closedStream,
    unit: pinged(() => priority(1)),
  },
  { says: "acknowledgements of PING", ...control, unit: pinged((_peer, i) => ping(i, true)) },
  { says: "acknowledgements of SETTINGS", ...control, unit: pinged(() => SETTINGS_ACK) },
  { says: "GOAWAY", ...control, before: openStream, unit: pinged(() => goAway(0)) },
  {
    says: "empty DATA (CVE-2019-9518)",
    reason: "empty_frames",
    limit: 100,
    before: openStream,
    unit: pinged(() => data(1, "")),
    count: byPings,
    sent: 50_000,
  },
  {
    says: "DATA of padding only",
    reason: "empty_frames",
    limit: 100,
    before: openStream,
    unit: pinged(() => data(1, "", { padding: 10 })),
    count: byPings,
    sent: 5_000,
  },
  {
    says: "DATA of one byte",
    reason: "tiny_frames",
    limit: 1_000,
    before: openStream,
    unit: pinged(() => data(1, "x")),
    count: byPings,
    sent: 50_000,
  },
];

/** Sends `count` units, or as many as are taken. */
export async function flood(peer: H2Peer, { unit }: Flood, count: number, from = 0): Promise<void> {
  for (let index = from; index < from + count;) {
    const parts: Uint8Array[] = [];
    for (let i = 0; i < 200 && index < from + count; i++) parts.push(unit(peer, index++));
    if (!await peer.send(...parts) || peer.goAway !== null) return;
  }
}
