/**
 * The truth table of access: each combination of lists of networks, basic and external authentication,
 * with `satisfy`, and right, wrong and missing logins. In: Ingresses with and without the profile nginx, and a
 * protected path in every spelling that nginx takes for it, over HTTP/1.1 and HTTP/2. Out: never a 200 that
 * should not be one.
 */
import assert from "node:assert/strict";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import {
  type AccessCase,
  accessCases,
  ADMITS_ALL,
  EXTERNAL,
  LOGINS,
  USERS,
} from "../support/access_cases.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { type Field, headers } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { telemetryOf, TestProxy } from "../support/test_proxy.ts";

/** What nginx takes for `/p`, a path of type ImplementationSpecific. */
const PROTECTED = [
  ...["/p", "//p", "/./p", "/x/..%2fp", "/x%2f..%2fp", "/%70", "/p/b", "/x/../p?q=/open"],
];
/** Served by the open path beside it, as in nginx. */
const OPEN = ["/", "/P", "/q", "/x/p", "/p;a"];

async function statusOver2(
  client: H2Peer,
  host: string,
  path: string,
  authorization: string | null,
): Promise<number> {
  const stream = client.nextStream();
  const fields: Field[] = [
    [":method", "GET"],
    [":scheme", "http"],
    [":authority", host],
    [":path", path],
  ];
  if (authorization !== null) fields.push(["authorization", authorization]);
  await client.send(headers(stream, fields, { end: true }));
  return (await client.answer(stream)).status;
}

Deno.test("no spelling of a protected path is served to who is not admitted", async () => {
  await compare(accessCases(), PROTECTED, OPEN);
});

Deno.test("external authentication beside other checks admits as satisfy says", async () => {
  await compare(accessCases(EXTERNAL), ["/p", "//p", "/x%2f..%2fp", "/%70"], ["/q"]);
});

Deno.test("external authentication admits the same with a cache, and with another method", async () => {
  const VARIANTS = [["auth-cache-key", "$http_authorization"], ["auth-method", "OPTIONS"]];
  for (const [name, value] of VARIANTS) {
    const cases = accessCases(EXTERNAL).map(({ annotations, expected }): AccessCase => {
      return { annotations: { ...annotations, [name]: value }, expected };
    });
    await compare(cases, ["/x%2f..%2fp"], []);
  }
});

/** Of `PROTECTED`, those that are `/p` as the API compares paths; the others might be, for a backend. */
const CANONICAL: ReadonlySet<string> = new Set([
  ...["/p", "/./p", "/%70", "/p/b", "/x/../p?q=/open"],
]);

/** Without those that protect nothing. */
const PROTECTING_CASES = accessCases().filter(({ annotations }) =>
  annotations["allowlist-source-range"] !== ADMITS_ALL
);

const OUTSIDE = {
  others: PROTECTED.filter((path) => !CANONICAL.has(path)),
  profile: "pingress",
} as const;

Deno.test("without the profile, a protected path is closed for everybody, in any spelling", async () => {
  await compare(PROTECTING_CASES, [...CANONICAL], OPEN, { ...OUTSIDE, isClosed: true });
});

Deno.test("accepted without the profile, other spellings of a protected path get 400", async () => {
  await compare(PROTECTING_CASES, [...CANONICAL], OPEN, OUTSIDE);
});

interface Spellings {
  /** Refused with 400, whoever sends them. */
  readonly others: readonly string[];
  readonly profile: "pingress" | "nginx";
  /** Whether what protects is not accepted. */
  readonly isClosed?: true;
}

async function compare(
  cases: readonly AccessCase[],
  closed: readonly string[],
  open: readonly string[],
  { others, profile, isClosed }: Spellings = { others: [], profile: "nginx" },
): Promise<void> {
  const forwarded: string[] = [];
  await using auth = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      const status = /^(?:GET|OPTIONS) \/(\d{3}) /.exec(asked.head)?.[1] ?? "500";
      await peer.send(
        `HTTP/1.1 ${status} Verdict\r\n${status === "204" ? "" : "Content-Length: 0\r\n"}\r\n`,
      );
    }
  });
  await using backend = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      forwarded.push(asked.head);
      await peer.send(reply("ok"));
    }
  });
  const ingresses = Object.fromEntries(cases.flatMap(({ annotations }, i) => {
    const host = `h${i}.test`;
    return [
      [`p${i}`, { host, annotations, paths: [["/p", "ImplementationSpecific"]] as const }],
      [`open${i}`, { host, annotations: {}, paths: [["/", "Prefix"]] as const }],
    ];
  }));
  const services = { auth: auth.port };
  const accepted = isClosed ? [] : undefined;
  const snapshot = annotatedSnapshot(
    ...[ingresses, [backend.port], profile, [USERS], services, null, accepted] as const,
  );
  using proxy = new TestProxy([], {}, { telemetry: telemetryOf(snapshot) });
  proxy.server.apply(snapshot);
  using client = await Peer.connect(proxy.port);
  await using other = await H2Peer.connect(proxy.port);
  for (const [i, { annotations, expected }] of cases.entries()) {
    for (const [name, value] of Object.entries(LOGINS)) {
      const checks = Object.keys(annotations).filter((name) => name !== "satisfy");
      const table = [
        [closed, isClosed && checks.length > 0 ? 503 : expected(name)] as const,
        [open, 200] as const,
        [others, checks.length === 0 ? 200 : 400] as const,
      ];
      for (const [paths, status] of table) {
        for (const path of paths) {
          const words = `${path} ${name} ${JSON.stringify(annotations)}`;
          const before = forwarded.length;
          const line = value === null ? "" : `Authorization: ${value}\r\n`;
          const head = `GET ${path} HTTP/1.1\r\nHost: h${i}.test\r\n${line}\r\n`;
          assert.equal(statusOf(await client.ask(head)), status, `HTTP/1.1 ${words}`);
          assert.equal(
            await statusOver2(other, `h${i}.test`, path, value),
            status,
            `HTTP/2 ${words}`,
          );
          assert.equal(forwarded.length - before, status === 200 ? 2 : 0, words);
        }
      }
    }
  }
}
