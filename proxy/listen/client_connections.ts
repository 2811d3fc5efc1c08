/** The connections from clients of one event loop. In: those that come and go. Out: all, in order. */
import type { DownstreamConnection } from "../http/downstream.ts";
import { IntrusiveSet } from "../io/intrusive_set.ts";

export class ClientConnections extends IntrusiveSet<DownstreamConnection> {
  constructor() {
    super({
      get: (connection) => connection.place,
      set: (connection, place) => void (connection.place = place),
    });
  }
}
