/**
 * Parsers of the admin port, of the stream between controller and proxy, of the API server's answers
 * and of published configurations. In: nothing. Out: rows of the table.
 */
import { Buffer } from "node:buffer";
import { readEvent } from "../../controller/kube/answer.ts";
import { isAlike } from "../../controller/kube/likeness.ts";
import { isRevision } from "../../controller/kube/revision.ts";
import { LineSplitter as WatchSplitter } from "../../controller/kube/transport.ts";
import { decodedBytes } from "../../controller/outputs/publish/objects.ts";
import { addressList, addressOf } from "../../controller/outputs/status/address.ts";
import { readBundle } from "../../controller/stream/ca/data.ts";
import { authoritiesIn, readSigner } from "../../controller/stream/ca/x509.ts";
import { MAX_ACK_BYTES, readAckLine } from "../../controller/stream/ack_messages.ts";
import { readHead } from "../../controller/stream/head.ts";
import { readClaims } from "../../controller/stream/token_claims.ts";
import { isSameJson, stableText } from "../../controller/base/json.ts";
import { printable, refusalProblem } from "../../controller/outputs/workload/refusal.ts";
import { CertificateEntry, Certificates } from "../../proxy/certificates/store.ts";
import { sortedObstacles } from "../../proxy/listen/socket_specs.ts";
import { parseRetryAfter } from "../../shared/net/retry_after.ts";
import { backendNameOf, serviceOf } from "../../shared/snapshot/forward_action.ts";
import { labelsText, sample } from "../../proxy/telemetry/exposition.ts";
import { parseAdminRequest } from "../../shared/admin/request.ts";
import { locateJsonError } from "../../shared/json_error.ts";
import { createLogger, escapeUnsafe } from "../../shared/log.ts";
import { isLoopMark } from "../../shared/loop_mark.ts";
import { Redacted } from "../../shared/redacted.ts";
import { parseRequestedUrl } from "../../shared/path/requested_url.ts";
import { readHead as readSnapshotHead } from "../../shared/snapshot/head.ts";
import { parseSnapshot } from "../../shared/snapshot/parse.ts";
import { LineSplitter } from "../../shared/stream/lines.ts";
import { readReport, readUpdate } from "../../shared/stream/messages.ts";
import {
  MAX_REPORT_BYTES,
  MAX_TOKEN,
  PROTOCOL_FIELD,
  STREAM_PATH,
  STREAM_PROTOCOL,
  STREAM_TYPE,
} from "../../shared/stream/protocol.ts";
import { listParser, type Parser, textParser } from "./parser.ts";
import type { Frame } from "./pumps.ts";

/** Of a request's head on the admin port. */
const ADMIN_BYTES = 16 * 1024;
/** As much of a configuration, an object or an answer of the API server as shows what is quadratic. */
const LARGE_BYTES = 128 * 1024;

const ADMIN = "GET /explain?url=a HTTP/1.1\r\nHost: a";

const JSON_PUMPS: readonly string[] = [
  "[",
  '{"a":',
  "{},",
  '"",',
  "0,",
  "0",
  "9",
  "a",
  " ",
  "\n",
  "\\\\",
  '\\"',
  "\\u0041",
  '"a":0,',
  '"',
  ",",
  "-",
  "tru",
];

/** Inside of a list, an object and a string. */
const JSON_FRAMES: readonly Frame[] = [["[", "0]"], ["{", '"z":0}'], ['{"kind":"', '"}']];

/** Parsers of one text, each with how large it may be, what reads it, pumps and frames. */
type Row = readonly [
  bytes: number,
  read: (text: string) => unknown,
  only: readonly string[] | undefined,
  ...frames: readonly Frame[],
];

const VALUES: readonly string[] = [
  " ",
  "a",
  ".",
  "-",
  "a.",
  ":",
  "0",
  "\n",
  "\0",
  "[",
  '"',
  "\xe9",
];

const logger = createLogger({ level: "info", format: "text", write: () => {} });

const TEXTS: Readonly<Record<string, Row>> = {
  "shared/admin/request.ts parseAdminRequest": [
    ADMIN_BYTES,
    parseAdminRequest,
    undefined,
    [ADMIN, "a"],
    [`${ADMIN}\r\nAccept: a`, "a"],
    [`${ADMIN}\r\n`, ": a"],
    ["GET /explain?url=", " HTTP/1.1\r\nHost: a"],
    ["GET http://", "/ HTTP/1.1\r\nHost: a"],
  ],
  "shared/path/requested_url.ts parseRequestedUrl": [
    ADMIN_BYTES,
    parseRequestedUrl,
    undefined,
    ["http://a/", ""],
    ["http://", "/"],
    ["a", "://"],
    ["http://[", "]"],
  ],
  "controller/stream/head.ts readHead": [
    ADMIN_BYTES,
    (text) =>
      readHead({
        method: "POST",
        url: STREAM_PATH,
        headers: {
          [PROTOCOL_FIELD]: STREAM_PROTOCOL,
          "content-type": STREAM_TYPE,
          authorization: text,
        },
      }),
    undefined,
    ["Bearer ", " "],
  ],
  "controller/stream/token_claims.ts readClaims": [
    MAX_TOKEN,
    readClaims,
    undefined,
    ["a.", ".a"],
    ["a.e30", ".a"],
    ["a.a.", "!"],
  ],
  "shared/stream/messages.ts readReport": [
    MAX_REPORT_BYTES,
    readReport,
    JSON_PUMPS,
    ...JSON_FRAMES,
    ['{"kind":"lost","reason":"', '"}'],
    ['{"kind":"alive","token":"', '"}'],
    ['{"kind":"hello","formats":[', '0],"proxy":""}'],
    ['{"kind":"hello","proxy":"","version":{"epoch":"a","seen":{', '"z":"0"}}}'],
  ],
  "controller/stream/ack_messages.ts readAckLine": [
    MAX_ACK_BYTES,
    readAckLine,
    JSON_PUMPS,
    ...JSON_FRAMES,
    [
      '{"kind":"ack","id":1,"ack":{"podUid":"',
      '","peer":"","version":null,"hash":null,"obstacles":[]}}',
    ],
    [
      '{"kind":"ack","id":1,"ack":{"podUid":null,"peer":"","version":null,"hash":null,"obstacles":[',
      "{}]}}",
    ],
    [
      '{"kind":"ack","id":1,"ack":{"podUid":null,"peer":"","hash":null,"obstacles":[],"version":{"epoch":"a","seen":{',
      '"z":"0"}}}}',
    ],
  ],
  "shared/stream/messages.ts readUpdate": [
    MAX_REPORT_BYTES,
    readUpdate,
    JSON_PUMPS,
    ...JSON_FRAMES,
    ['{"kind":"bye","reason":"', '"}'],
  ],
  "shared/snapshot/parse.ts parseSnapshot": [
    MAX_REPORT_BYTES,
    (text) => parseSnapshot(text),
    JSON_PUMPS,
    ...JSON_FRAMES,
    ['{"format":2,"routes":[', "0]}"],
    ['{"format":2,"upstreams":[', "0]}"],
    ['{"rules":[', "0]}"],
    ['{"format":2,', '"z":0}'],
    ['{"format":2,"loopMark":"', '"}'],
  ],
  "shared/snapshot/head.ts readHead": [
    MAX_REPORT_BYTES,
    readSnapshotHead,
    JSON_PUMPS,
    ...JSON_FRAMES,
    ['{"format":1,"version":{"epoch":"a","seen":{', '"z":"0"}}}'],
    ['{"format":1,"set":{"keys":[', '0],"parts":[]}}'],
  ],
  "shared/loop_mark.ts isLoopMark": [LARGE_BYTES, isLoopMark, VALUES, ["a", "_"]],
  "shared/json_error.ts locateJsonError": [LARGE_BYTES, locateJsonError, JSON_PUMPS, ["[", "0}"]],
  "controller/kube/answer.ts readEvent": [LARGE_BYTES, readEvent, JSON_PUMPS, ...JSON_FRAMES],
  "controller/kube/revision.ts isRevision": [LARGE_BYTES, isRevision, VALUES, ["1", "a"]],
  "controller/outputs/publish/objects.ts decodedBytes": [LARGE_BYTES, decodedBytes, [
    "A",
    "=",
    " ",
    "\n",
  ]],
  "controller/outputs/status/address.ts addressOf": [
    ADMIN_BYTES,
    addressOf,
    [...VALUES, "::", "1.1."],
    ["a", "."],
    ["::", "1"],
  ],
  "controller/outputs/workload/refusal.ts printable": [LARGE_BYTES, printable, VALUES, ["a", "."]],
  "what the API server says of the workload": [
    LARGE_BYTES,
    (message) =>
      refusalProblem({ kind: "Deployment", namespace: "a", name: "a" }, {
        code: 403,
        reason: "Forbidden",
        message,
        retryAfter: null,
      }),
    VALUES,
    ["exceeded ", " quot"],
  ],
  "controller/stream/ca/data.ts readBundle": [LARGE_BYTES, readBundle, VALUES],
  "controller/stream/ca/x509.ts authoritiesIn": [
    LARGE_BYTES,
    authoritiesIn,
    [...VALUES, "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"],
  ],
  "controller/stream/ca/x509.ts readSigner": [
    LARGE_BYTES,
    (text) => readSigner(text, text),
    VALUES,
  ],
  "proxy/telemetry/exposition.ts sample": [
    LARGE_BYTES,
    (text) => sample("pingress_requests_total", labelsText({ host: text }), 1),
    ["\\", '"', "\n", "a"],
  ],
  "shared/net/retry_after.ts parseRetryAfter": [
    LARGE_BYTES,
    (text) => parseRetryAfter(text, 0),
    ["1", "Thu, 26 Nov 2026 20:00:30 GMT", " "],
  ],
  "shared/snapshot/forward_action.ts serviceOf": [LARGE_BYTES, serviceOf, ["/", ":", "a/", "a"]],
  "shared/snapshot/forward_action.ts backendNameOf": [
    LARGE_BYTES,
    backendNameOf,
    ["//", "//a", ":", "a/", "a", "//a:"],
  ],
  "shared/log.ts escapeUnsafe": [LARGE_BYTES, escapeUnsafe, [...VALUES, "\x9f"]],
  "a line of the log": [LARGE_BYTES, (text) => logger.info(text, { text }), [...VALUES, "\x9f"]],
};

const NAME = Buffer.from("{}\n".repeat(4), "latin1");

export const CONTROL_PARSERS: readonly Parser[] = [
  ...Object.entries(TEXTS).map(([name, [bytes, read, only, ...frames]]) =>
    textParser({
      name: name.replace(/.*\.ts /, ""),
      functions: name.includes(".ts ") ? [name] : [],
      bytes,
      only,
      frames,
      read: (text) => () => read(text),
    })
  ),
  ...[1, 1024].map((size) =>
    textParser({
      name: `lines of the stream in pieces of ${size} bytes`,
      functions: [
        "shared/stream/lines.ts LineSplitter.push",
        "controller/kube/transport.ts new LineSplitter",
        "controller/kube/transport.ts LineSplitter.push",
      ],
      bytes: MAX_REPORT_BYTES / 4,
      only: ["a", "\n", "{}\n", "\r\n"],
      read: (text) => {
        const bytes = Buffer.from(text, "latin1");
        return () => {
          const report = new LineSplitter(MAX_REPORT_BYTES);
          const watch = new WatchSplitter(() => {});
          for (let at = 0; at < bytes.length; at += size) {
            report.push(bytes.subarray(at, at + size));
            watch.push(bytes.subarray(at, at + size));
          }
          report.push(NAME);
          watch.push(NAME);
        };
      },
    })
  ),
  listParser({
    name: "JSON of any depth and width",
    functions: [
      "controller/kube/likeness.ts isAlike",
      "controller/base/json.ts isSameJson",
      "controller/base/json.ts stableText",
    ],
    count: 8192,
    read: {
      fields: (count) => jsonOf(count, (i) => [`name-${i}`, i]),
      "lists of fields": (count) => jsonOf(count, (i) => [`name-${i}`, [i]]),
    },
  }),
  listParser({
    name: "addresses of the status",
    functions: ["controller/outputs/status/address.ts addressList"],
    count: 4096,
    read: {
      names: (count) => addressesOf(count, (i) => `${i}.test`),
      addresses: (count) => addressesOf(count, (i) => `10.0.${i >> 8}.${i & 255}`),
    },
  }),
  listParser({
    name: "sockets that are not open",
    functions: ["proxy/listen/socket_specs.ts sortedObstacles"],
    count: 8192,
    read: {
      sockets: (count) => {
        const reasons = new Map(
          Array.from({ length: count }, (_, i) => [`${65_535 - i}`, "taken"]),
        );
        return () => sortedObstacles(reasons);
      },
    },
  }),
  listParser({
    name: "requests to each host of a certificate",
    functions: [
      "proxy/certificates/store.ts CertificateEntry.covers",
      "proxy/certificates/store.ts CertificateEntry.redirects",
      "proxy/certificates/store.ts Certificates.apply",
      "proxy/certificates/store.ts Certificates.byId",
      "proxy/certificates/store.ts Certificates.covering",
      "proxy/certificates/store.ts Certificates.find",
      "proxy/certificates/store.ts Certificates.isMisdirected",
      "shared/host/plain_hosts.ts staysPlain",
    ],
    // Of one Ingress, within the 1.5 MiB that etcd takes.
    count: 8192,
    read: {
      hosts: (count) => certificateOf(count, (i) => `host-${i}.test`, (name) => name),
      wildcards: (count) =>
        certificateOf(count, (i) => `*.${i}.test`, (name) => `a${name.slice(1)}`),
    },
  }),
];

function jsonOf(count: number, entry: (i: number) => [string, unknown]): () => void {
  const make = () => Object.fromEntries(Array.from({ length: count }, (_, i) => entry(i)));
  const [one, other] = [make(), make()];
  return () => {
    isAlike(one, other);
    isSameJson(one, other);
    stableText(one);
  };
}

function addressesOf(count: number, address: (i: number) => string): () => void {
  const list = Array.from({ length: count }, (_, i) => address(i));
  return () => addressList(list);
}

function certificateOf(
  count: number,
  host: (i: number) => string,
  requested: (host: string) => string,
): () => void {
  const hosts = Array.from({ length: count }, (_, i) => host(i));
  const certificate = { id: "a", hosts, plain: hosts, chain: "", key: new Redacted("") };
  const names = hosts.map(requested);
  return () => {
    const certificates = new Certificates();
    certificates.apply({
      changed: [certificate],
      removed: [],
      hosts: hosts.map((name) => [name, "a"]),
      ids: [["a", "a"]],
    }, "a");
    const entry = new CertificateEntry(certificate);
    for (const name of names) {
      entry.covers(name);
      certificates.find(name)?.redirects(name);
      certificates.find(`other-${name}`);
      certificates.isMisdirected(`other-${name}`, entry);
    }
  };
}
