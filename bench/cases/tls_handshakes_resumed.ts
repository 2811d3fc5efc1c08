/** The cost of a client that comes back: the ticket of its last connection spares the certificate. */
import { RESUMED_HANDSHAKES } from "../loads/handshakes.ts";
import { TLS_HANDSHAKES_FULL } from "./tls_handshakes_full.ts";
import type { Case } from "../model.ts";

export const TLS_HANDSHAKES_RESUMED: Case = {
  ...TLS_HANDSHAKES_FULL,
  name: "tls-handshakes-resumed",
  about: "connect, resumed TLS 1.3 handshake, GET, 200 with 6 bytes, close",
  load: RESUMED_HANDSHAKES,
};
