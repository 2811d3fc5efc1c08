/**
 * Lines from one replica of the controller to the leader. In: what a proxy has acknowledged, or a line. Out:
 * the line, or what it says. A proxy is known by a number that the sender gives.
 */
import { ConfigCheck, isObject, type JsonObject } from "../../shared/snapshot/config_check.ts";
import { readVersion } from "../../shared/snapshot/parse.ts";
import type { ProxyAck, SocketObstacle } from "./proxy_acks.ts";

/** The request that opens a relay, on the port of the stream. */
export const ACKS_PATH = "/v1/acks";

/** How often the other end is heard at least, in ms; that of a stream. */
export const ACKS_INTERVAL = 1_500;

/** Milliseconds without a line after which the other end is taken for dead. */
export const ACKS_SILENCE = 5_000;

/** Bytes of a line: a proxy with every socket of --listen-range closed has fewer. */
export const MAX_ACK_BYTES = 65_536;

export type AckMessage =
  | { readonly kind: "ack"; readonly id: number; readonly ack: ProxyAck }
  /** The proxy has no stream to the sender any more. */
  | { readonly kind: "gone"; readonly id: number }
  | { readonly kind: "alive" };

/** With its end. */
export function ackLine(message: AckMessage): string {
  return `${JSON.stringify(message)}\n`;
}

/** Null for a line that no replica writes. What only newer ones know is `alive`. */
export function readAckLine(line: string): AckMessage | null {
  let fields: unknown;
  try {
    fields = JSON.parse(line);
  } catch {
    return null;
  }
  if (!isObject(fields)) return null;
  const { kind, id } = fields;
  if (typeof kind !== "string") return null;
  if (kind !== "ack" && kind !== "gone") return { kind: "alive" };
  if (typeof id !== "number" || !Number.isSafeInteger(id)) return null;
  if (kind === "gone") return { kind, id };
  const ack = isObject(fields.ack) ? readAck(fields.ack) : null;
  return ack === null ? null : { kind: "ack", id, ack };
}

function readAck({ podUid, peer, version, hash, obstacles }: JsonObject): ProxyAck | null {
  const check = new ConfigCheck();
  const seen = version === null ? null : readVersion(version, check);
  const isText = typeof peer === "string" &&
    [podUid, hash].every((text) => text === null || typeof text === "string");
  if (check.refused || version === undefined || !isText || !Array.isArray(obstacles)) return null;
  return {
    podUid: podUid as string | null,
    peer,
    version: seen,
    hash: hash as string | null,
    obstacles: obstacles.flatMap((each): SocketObstacle[] => {
      const { socket, reason } = isObject(each) ? each : {};
      return typeof socket === "string" && typeof reason === "string" ? [{ socket, reason }] : [];
    }),
  };
}
