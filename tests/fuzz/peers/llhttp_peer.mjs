/**
 * llhttp, as Node carries it. In: frames on standard input (32-bit little-endian length, bytes), each
 * a client's whole stream. Out: a line of JSON for each, as `../peer.ts` describes.
 *
 * Fed byte by byte, so that the place where a message ends is known to the byte.
 */
import { Buffer } from "node:buffer";
import process from "node:process";

const { HTTPParser, allMethods, methods } = process.binding("http_parser");
const METHODS = allMethods ?? methods;

function parse(bytes) {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {});
  const requests = [];
  let at = 0;
  let begun = false;
  let inBody = false;
  let switches = false;
  let method = "";
  let target = "";
  let fields = [];
  let body = "";
  parser[HTTPParser.kOnMessageBegin | 0] = () => {
    begun = true;
    inBody = false;
    method = target = body = "";
    fields = [];
  };
  // Called ahead of the head's end where fields are many, and for trailers.
  parser[HTTPParser.kOnHeaders | 0] = (list, url) => {
    if (inBody) return;
    fields.push(...list);
    target += url;
  };
  parser[HTTPParser.kOnHeadersComplete | 0] = (_1, _2, list, number, url, _3, _4, upgrade) => {
    if (list) fields.push(...list);
    if (url) target += url;
    method = METHODS[number];
    inBody = true;
    switches = upgrade;
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (chunk) => {
    body += chunk.toString("latin1");
  };
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    const pairs = [];
    for (let i = 0; i < fields.length; i += 2) pairs.push([fields[i], fields[i + 1]]);
    requests.push({ method, target, fields: pairs, body, end: at + 1 });
    begun = false;
  };
  for (; at < bytes.length; at++) {
    const result = parser.execute(bytes.subarray(at, at + 1));
    if (typeof result !== "number") {
      const outcome = result.code === "HPE_CLOSED_CONNECTION" ? "closed" : "rejected";
      return { requests, outcome, detail: `${result.code} ${result.reason}` };
    }
    // What follows belongs to another protocol, as far as it is concerned.
    if (switches && !begun) return { requests, outcome: "closed", detail: "Upgrade" };
  }
  return { requests, outcome: begun ? "incomplete" : "complete", detail: "" };
}

let waiting = Buffer.alloc(0);
process.stdin.on("data", (data) => {
  waiting = waiting.length === 0 ? data : Buffer.concat([waiting, data]);
  let out = "";
  while (waiting.length >= 4) {
    const length = waiting.readUInt32LE(0);
    if (waiting.length < 4 + length) break;
    out += JSON.stringify(parse(waiting.subarray(4, 4 + length))) + "\n";
    waiting = waiting.subarray(4 + length);
  }
  if (out !== "") process.stdout.write(out);
});
