/**
 * The answer to a WebSocket handshake of HTTP/1.1 where HTTP/2 has opened the tunnel (RFC 8441 §5). In:
 * the client's key, and the fields of the backend's 200. Out: the fields of a 101 that the client
 * takes (RFC 6455 §4.2.2).
 */
import { createHash } from "node:crypto";
import {
  DROPPED,
  type Fields,
  fieldsOf,
  NEVER_CROSSES,
  SEC_WEBSOCKET_KEY,
} from "../http/fields.ts";

/** RFC 6455 §1.3 */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const ACCEPT = "sec-websocket-accept";

/** The key that a handshake shows; "" where it shows none. */
export function keyOf(fields: Fields): string {
  const index = fields.find(SEC_WEBSOCKET_KEY);
  return index === -1 ? "" : fields.value(index);
}

/** `fields` of the backend, those that cross, and what the key is to be answered with. */
export function switchingFields(fields: Fields, key: string): Fields {
  const pairs: [string, string][] = [];
  for (let i = 0; i < fields.count; i++) {
    const id = fields.ids[i];
    const name = fields.name(i);
    if (id === DROPPED || NEVER_CROSSES[id] === 1 || name === ACCEPT) continue;
    pairs.push([name, fields.value(i)]);
  }
  if (key !== "") {
    pairs.push([ACCEPT, createHash("sha1").update(key + GUID).digest("base64")]);
  }
  return fieldsOf(pairs);
}
