/**
 * What the router reads of requests whose routes have conditions. In: nothing. Out: rows of the
 * table.
 */
import { asciiBytes, Fields } from "../../proxy/http/fields.ts";
import { DEFAULT_LIMITS } from "../../proxy/http/limits.ts";
import { RequestHead } from "../../proxy/http/message.ts";
import { matcherOf } from "../../proxy/router/patterns/pattern.ts";
import { PatternWork } from "../../proxy/router/patterns/work.ts";
import { compileTable } from "../../proxy/router/table.ts";
import type { PathMatch, Route, RouteMatch, Snapshot } from "../../shared/snapshot/types.ts";
import { listParser, type Parser, textParser } from "./parser.ts";

const HEAD_BYTES = DEFAULT_LIMITS.requestHeadBytes;

/** Routes of one host, more than an Ingress may have. */
const COUNT = 2048;

function tableOf(matches: readonly RouteMatch[]) {
  const routes = matches.map((match, i): Route => ({
    id: String(i),
    host: "a.test",
    match,
    action: { kind: "reply", status: 503, reason: "" },
    origin: { kind: "HTTPRoute", namespace: "a", name: "a", field: "" },
  }));
  const snapshot: Snapshot = {
    format: 2,
    version: { epoch: "test", seen: {} },
    routes,
    defaultAction: null,
    upstreams: [],
    certificates: [],
    defaultCertificate: null,
  };
  return compileTable(snapshot, (_, route) => route?.id ?? null);
}

const ROOT: PathMatch = { type: "Prefix", value: "/" };

const TABLE = tableOf([
  { path: ROOT, headers: [{ name: "a", type: "Exact", value: "a" }] },
  { path: ROOT, query: [{ name: "a", type: "Exact", value: "b" }] },
  { path: { type: "StringPrefix", value: "/a" }, method: "PUT" },
  { path: ROOT, method: "POST" },
]);

/** The field `a` with this value. */
function requestOf(value: string): RequestHead {
  const fields = new Fields();
  const bytes = asciiBytes(`a${value}`);
  fields.clear(bytes);
  fields.push(0, 0, 1, 1, bytes.length);
  return Object.assign(new RequestHead(fields), { method: "GET" });
}

/** A table of `count` routes, and a request that none of them takes. */
function lost(match: (number: number) => RouteMatch) {
  return (count: number) => {
    const matches = Array.from({ length: count }, (_, i) => match(i));
    const request = requestOf("none");
    const path = "/a".repeat(256);
    return () => tableOf(matches).match("a.test", path, request);
  };
}

/** What V8 would follow many ways through, and a pattern with more states than an automaton may have. */
const LONG_TEXTS = ["(?:a+)+$", "(?:.*)(?:.*)(?:.*)(?:.*)c", `(?:a|/)*a${"[a/]".repeat(16)}`];

const MATCHERS = LONG_TEXTS.map(matcherOf);

export const ROUTER_PARSERS: readonly Parser[] = [
  textParser({
    name: "a path that is compared with regular expressions",
    functions: [
      "proxy/router/patterns/automaton.ts Automaton.matches",
    ],
    bytes: HEAD_BYTES,
    read: (text) => () => MATCHERS.forEach((matches) => matches(text, new PatternWork())),
  }),
  textParser({
    name: "a header that routes have conditions on",
    functions: [
      "proxy/http/fields.ts Fields.joined",
      "proxy/http/message.ts RequestHead.header",
      "proxy/router/request_view.ts RequestView.header",
    ],
    bytes: HEAD_BYTES,
    read: (text) => {
      const request = requestOf(text);
      return () => TABLE.match("a.test", "/", request);
    },
  }),
  textParser({
    name: "a query that routes have conditions on",
    functions: ["proxy/router/request_view.ts RequestView.parameter"],
    bytes: HEAD_BYTES,
    frames: [["?", ""], ["?a=", ""], ["?", "=a"]],
    pumps: ["a&", "&", "a=b&", "=", "+", "%", "%41", "%c3", "%c3%bc"],
    read: (text) => {
      const request = Object.assign(requestOf(""), { query: text });
      return () => TABLE.match("a.test", "/", request);
    },
  }),
  listParser({
    name: "routes of a host that have conditions",
    functions: ["proxy/router/listener_hosts.ts ListenerIndex.replace"],
    count: COUNT,
    read: {
      "on one path": lost((i) => ({
        path: ROOT,
        headers: [{ name: `a${i}`, type: "Exact", value: "b" }],
      })),
      "on one header": lost((i) => ({
        path: ROOT,
        headers: [{ name: "a", type: "Exact", value: `b${i}` }],
      })),
      "on one parameter": lost((i) => ({
        path: ROOT,
        query: [{ name: "a", type: "Exact", value: `b${i}` }],
      })),
      "on texts": lost((i) => ({ path: { type: "StringPrefix", value: `/b${i}` } })),
      "on nested paths": lost((i) => ({
        path: { type: "Prefix", value: "/a".repeat(1 + i % 64) },
        headers: [{ name: "a", type: "Exact", value: String(i) }],
      })),
      "on Exact paths below them": lost((i) => ({
        path: i % 2 === 0 ? ROOT : { type: "Exact", value: `/a/${i}` },
        method: `M${i}`,
      })),
    },
  }),
];
