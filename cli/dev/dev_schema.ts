/** The JSON of `dev`, a value a line. In: nothing. Out: its schema, from which `docs/schemas/dev.json` is written. */
import Type, { type TSchema } from "typebox";
import { CERTIFICATE_CHANGE, ROUTE, ROUTE_CHANGE, SETTING_CHANGE } from "../diff/diff_schema.ts";
import { closed, nullable, PROBLEM, TEXT, TEXTS, VERSION } from "../json_parts.ts";

const COUNT = Type.Integer({ minimum: 0 });
const PROBLEMS = Type.Integer({ minimum: 0, description: "How many there are." });

function event<P extends Record<string, TSchema>>(
  name: string,
  fields: P,
  description: string,
) {
  return closed({ v: VERSION, event: Type.Literal(name), ...fields }, description);
}

export const DEV_JSON = Type.Union([
  event("started", {
    paths: TEXTS,
    http: Type.Array(TEXT, { description: "http://127.0.0.1:8080" }),
    https: TEXTS,
    admin: TEXT,
    portOffset: COUNT,
  }, "All ports accept connections."),
  event("served", {
    objects: COUNT,
    routes: Type.Array(ROUTE),
    listeners: Type.Array(closed({
      id: Type.String({ description: "NAMESPACE/GATEWAY/LISTENER." }),
      port: Type.Integer({ description: "As the Gateway says." }),
      host: nullable(TEXT, "Null for any."),
      url: nullable(TEXT, "On this machine; null where it is not open."),
    })),
    problems: PROBLEMS,
  }, "What is served first; a problem event follows for each problem."),
  event("problem", { problem: PROBLEM }, "A problem of what is served now."),
  event("changed", {
    durationMs: COUNT,
    routes: Type.Array(ROUTE_CHANGE),
    certificates: Type.Array(CERTIFICATE_CHANGE),
    settings: Type.Array(SETTING_CHANGE),
    problems: PROBLEMS,
    mended: Type.Array(PROBLEM),
  }, "After a save that changes what is served; a problem event follows for each new problem."),
  event("request", {
    time: Type.String({ description: "Of its end, RFC 3339 in UTC." }),
    method: nullable(TEXT),
    host: nullable(TEXT),
    path: nullable(TEXT, "Without the query."),
    status: nullable(Type.Integer(), "Null where the client closed before the response."),
    durationMs: Type.Number({ minimum: 0 }),
    route: nullable(TEXT, "Id of the route; null for none."),
    upstream: nullable(TEXT, "NAMESPACE/SERVICE:PORT."),
    endpoint: nullable(TEXT),
    error: nullable(TEXT, "Code of a response of Pingress itself."),
    reason: nullable(TEXT, "Why the route cannot be served."),
  }, "With --tap, each request."),
  event("dropped", { lines: COUNT }, "With --tap, requests that came too fast to be printed."),
  event("stopped", {}, "The last event."),
], { description: "pingress dev -o json: one value a line" });
