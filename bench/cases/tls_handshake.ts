/** The cost of a new client: connect, full handshake, one small request, close. */
import { type Case } from "../case.ts";

export const TLS_HANDSHAKE: Case = {
  name: "tls-handshake",
  about: "connect, full TLS 1.3 handshake, GET, 200 with 6 bytes, close",
  unit: "handshake",
  path: "/small",
  connections: 16,
  uploadBytes: 0,
  tls: true,
  workers: 1,
};
