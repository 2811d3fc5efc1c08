/** The cost of a message through a WebSocket: a tunnel of many small reads and writes. */
import { type Case } from "../case.ts";

export const WEBSOCKET_ECHO: Case = {
  name: "websocket-echo",
  about: "WebSockets, 32 bytes there and back",
  unit: "message",
  path: "/echo",
  connections: 32,
  uploadBytes: 0,
  tls: false,
  workers: 1,
};
