/** The cost of a client that was never here: connect, full handshake, one small request, close. */
import { FULL_HANDSHAKES } from "../loads/handshakes.ts";
import { NEW_CONNECTIONS } from "./new_connections.ts";
import type { Case } from "../model.ts";

export const TLS_HANDSHAKES_FULL: Case = {
  ...NEW_CONNECTIONS,
  name: "tls-handshakes-full",
  about: "connect, full TLS 1.3 handshake, GET, 200 with 6 bytes, close",
  unit: "handshake",
  tls: true,
  load: FULL_HANDSHAKES,
};
