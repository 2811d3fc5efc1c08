/** The cost of a message through one of many WebSockets: tunnels of small reads and writes. */
import type { Case } from "../model.ts";

export const WEBSOCKET_1K: Case = {
  name: "websocket-1k",
  about: "WebSockets, 32 bytes there and back",
  unit: "message",
  path: "/echo",
  http: 1,
  upstream: "http",
  connections: 1000,
  streams: 1,
  uploadBytes: 0,
  tls: false,
  workers: 1,
  held: { connections: 50, streams: 1 },
};
