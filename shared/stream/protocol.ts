/**
 * What both ends of the stream between controller and proxy agree on before the first line. The
 * lines themselves are in `messages.ts`.
 */

/** The request that opens a stream; any other path is answered with 404. */
export const STREAM_PATH = "/v1/stream";

/** The value of the field `pingress-protocol`; raised only when an older end would misunderstand. */
export const STREAM_PROTOCOL = "1";

/** The name of that field. */
export const PROTOCOL_FIELD = "pingress-protocol";

/** The content type of both bodies: one JSON object a line. */
export const STREAM_TYPE = "application/x-ndjson";

/** The audience of the service-account token with which a proxy says who it is. */
export const STREAM_AUDIENCE = "pingress-stream";

/** The port of the controller, where none is given. */
export const STREAM_PORT = 9443;

/** The longest line from the controller, in bytes: a whole configuration with its keys. */
export const MAX_UPDATE_BYTES = 64 * 1024 * 1024;

/** The longest line from a proxy, in bytes. */
export const MAX_REPORT_BYTES = 64 * 1024;

/** How often a controller that has nothing to say pings, in ms. */
export const HEARTBEAT_MS = 1500;

/** A controller that has said nothing for so long is taken for dead, in ms. */
export const CONTROLLER_SILENCE_MS = 5000;

/** How often a proxy says that it is alive, in ms. */
export const ALIVE_INTERVAL_MS = 10_000;

/** A proxy that has said nothing for so long is taken for dead, in ms. */
export const PROXY_SILENCE_MS = 30_000;

/** Characters of a proxy's token; those of service accounts have one to two thousand. */
export const MAX_TOKEN = 16_384;
