/** The connections from clients of one event loop. In: those that come and go. Out: all, in order. */
import type { DownstreamConnection } from "../http/downstream.ts";
import { Roster } from "../io/roster.ts";

export class ClientConnections extends Roster<DownstreamConnection> {
  constructor() {
    super({
      get: (connection) => connection.place,
      set: (connection, place) => void (connection.place = place),
    });
  }
}
