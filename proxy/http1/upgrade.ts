/**
 * Switching protocols (RFC 9110 §7.8, RFC 6455 §4). In: heads that carry Upgrade. Out: the protocol
 * that both sides mean, or "" for a message that goes on as a plain one.
 *
 * Only what cannot smuggle is an upgrade: `h2c` would carry requests past the router, a body before
 * the switch could be read as tunnel or as request, and a malformed WebSocket handshake is answered
 * by backends in different ways (CVE-2026-2833 was a tunnel opened before the backend's 101).
 */
import { type Fields, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE } from "../http/fields.ts";
import type { RequestHead } from "../http/message.ts";

/** 16 bytes in base64. */
const WEBSOCKET_KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/;
/** `protocol-name ["/" protocol-version]`, one only. */
const PROTOCOL = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?$/;

/** The protocol a request asks for, in lower case, or "". Connection has named Upgrade already. */
export function readUpgrade(head: RequestHead): string {
  if (head.version !== 11 || head.bodyLength !== 0) return "";
  const protocol = upgradeOf(head.fields);
  if (/^(h2c?|http)(\/|$)/.test(protocol)) return "";
  if (protocol === "websocket" && !isWebSocketHandshake(head)) return "";
  return protocol;
}

/** The one protocol that a head names, in lower case, or "". */
export function upgradeOf(fields: Fields): string {
  const index = fields.find(UPGRADE);
  if (index === -1 || fields.find(UPGRADE, index + 1) !== -1) return "";
  const protocol = fields.value(index).toLowerCase();
  return PROTOCOL.test(protocol) ? protocol : "";
}

function isWebSocketHandshake({ method, fields }: RequestHead): boolean {
  const key = only(fields, SEC_WEBSOCKET_KEY);
  return method === "GET" && only(fields, SEC_WEBSOCKET_VERSION) === "13" && key !== null &&
    WEBSOCKET_KEY.test(key);
}

function only(fields: Fields, id: number): string | null {
  const index = fields.find(id);
  return index === -1 || fields.find(id, index + 1) !== -1 ? null : fields.value(index);
}
