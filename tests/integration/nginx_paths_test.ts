/**
 * Paths that the profile nginx protects, in all spellings, from the Ingress to what clients and backends see,
 * over HTTP/1.1 and HTTP/2.
 */
import assert from "node:assert/strict";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, reply, statusOf } from "../support/backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ProxyProcess } from "../support/proxy_process.ts";

const DENIES = { "allowlist-source-range": "10.0.0.0/8" };
const ROOT = ["/", "Prefix"] as const;

/** Spellings of /admin/x, or of what is below it. */
const OF_ADMIN = [
  ...[
    "/admin/x",
    "//admin/x",
    "/./admin/x",
    "/x/../admin/x",
    "/x/..%2fadmin/x",
    "/x%2f..%2fadmin/x",
  ],
  ...["/%61dmin/x", "/admi%6E/x", "/admin%2Fx", "/admin%2fx", "/%2Fadmin/x", "/x//../admin/x"],
  ...[
    "/admin/x%20",
    "/admin/x;a",
    "/admin/./x",
    "/admin/y/..%2F/x",
    "/%2e/admin/x",
    "/x/%2E%2E/admin/x",
  ],
  ...["/open/..%2fadmin/x", "/open/y%2F..%2F..%2fadmin%2Fy%2F..%2f", "/x/..//admin//x", "/admin//"],
];

/** Spellings of other paths, or of none. */
const OTHERS = [
  ...["/", "/x", "/Admin/x", "/admin;a/x", "/%2561dmin/x", "/adminx", "/admin%20/x", "/admin%25/x"],
  ...["/admin/../x", "/admin%2F..%2Fx", "/admin./x", "/.admin/x"],
];

/** What nginx refuses. */
const REFUSED = [
  "/..%2f",
  "//../admin/x",
  "/admin/%00",
  "/%2e%2e%2fadmin",
  "/%zz",
  "/x%2f..%2f..%2fadmin",
];

interface Case {
  readonly says: string;
  readonly ingresses: Readonly<Record<string, AnnotatedIngress>>;
  /** The status for targets, over HTTP/1.1 and HTTP/2. */
  readonly expected: readonly (readonly [targets: readonly string[], status: number])[];
}

const PROTECTED: Readonly<Record<string, AnnotatedIngress["paths"]>> = {
  "a Prefix": [["/admin", "Prefix"]],
  "an ImplementationSpecific path": [["/admin/", "ImplementationSpecific"]],
};

const OPEN: AnnotatedIngress = { annotations: {}, paths: [ROOT] };
const ADMIN: AnnotatedIngress = { annotations: DENIES, paths: [["/admin", "Prefix"]] };
const OUTSIDE = { isOutside: true } as const;

const CASES: readonly Case[] = [
  ...Object.entries(PROTECTED).map(([what, paths]): Case => ({
    says: `${what} is protected in all spellings`,
    ingresses: {
      open: { annotations: {}, paths: [ROOT, ["/open", "Prefix"]] },
      protected: { annotations: DENIES, paths },
    },
    expected: [[OF_ADMIN, 403], [OTHERS, 200], [REFUSED, 400]],
  })),
  {
    says: "a regular expression is protected in all spellings",
    ingresses: {
      open: OPEN,
      protected: {
        annotations: { ...DENIES, "use-regex": "true" },
        paths: [["/admin/", "ImplementationSpecific"]],
      },
    },
    expected: [
      [[...OF_ADMIN, "/ADMIN/x"], 403],
      [OTHERS.filter((path) => path !== "/Admin/x"), 200],
    ],
  },
  {
    says: "an open path in a protected host is what it is in nginx",
    ingresses: {
      protected: { annotations: DENIES, paths: [ROOT] },
      open: { annotations: {}, paths: [["/open", "Prefix"]] },
    },
    expected: [
      [
        ["/open", "/open/x", "//open", "/op%65n/", "/x/../open", "/open/%2e/x", "/x%2f..%2fopen"],
        200,
      ],
      [["/open/../x", "/open%2f..%2fadmin", "/openx", "/OPEN", "/%6Fpenx"], 403],
    ],
  },
  ...[true, false].map((isOutside): Case => ({
    says:
      "a path leads nowhere if its host has routes with the profile and without it that differ " +
      `on it, ${isOutside ? "without it for all else" : "with it for all else"}`,
    ingresses: {
      open: isOutside ? { ...OPEN, ...OUTSIDE } : OPEN,
      protected: isOutside ? ADMIN : { ...ADMIN, ...OUTSIDE },
    },
    expected: [
      [["/admin", "/admin/x", "/%61dmin", "/x/../admin", "/admin/%2e/"], 403],
      [["//admin", "/x%2f..%2fadmin", "/admin%2fx", "/admin/..%2fx", "/x//../admin"], 400],
    ],
  })),
];

/** The first case has any host, the others one of their own: one start takes a second of CPU. */
const INGRESSES = Object.fromEntries(
  CASES.flatMap(({ ingresses }, i) =>
    Object.entries(ingresses).map(([name, one]) =>
      [`${name}-${i}`, i === 0 ? one : { ...one, host: hostOf(i) }] as const
    )
  ),
);

function hostOf(index: number): string {
  return `case-${index}.test`;
}

Deno.test("the profile nginx protects paths in a proxy as it is started", async (t) => {
  const received: string[] = [];
  await using backend = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      received.push(asked.head.split(" ")[1]);
      await peer.send(reply("ok"));
    }
  });
  await using proxy = await ProxyProcess.start({
    snapshot: annotatedSnapshot(INGRESSES, [backend.port], "nginx"),
    args: ["--allow-loopback-upstreams"],
  });
  for (const [i, { says, expected }] of CASES.entries()) {
    await t.step(says, async () => {
      await using http2 = await H2Peer.connect(proxy.httpPort);
      for (const [targets, status] of expected) {
        for (const target of targets) {
          received.length = 0;
          using client = await Peer.connect(proxy.httpPort);
          const head = `GET ${target} HTTP/1.1\r\nHost: ${hostOf(i)}\r\n\r\n`;
          const answer = await client.ask(head);
          const { status: overHttp2 } = await http2.ask(target, [], hostOf(i));
          assert.deepEqual([statusOf(answer), overHttp2], [status, status], target);
          // As the client has sent it, each time.
          assert.deepEqual(received, status === 200 ? [target, target] : []);
        }
      }
    });
  }
});

Deno.test("a path without the profile is compared and sent on as it was before", async () => {
  const received: string[] = [];
  await using backend = new Backend(async (peer) => {
    for (let asked = await peer.request(); asked !== null; asked = await peer.request()) {
      received.push(asked.head.split(" ")[1]);
      await peer.send(reply("ok"));
    }
  });
  await using proxy = await ProxyProcess.start({
    snapshot: annotatedSnapshot({ web: { annotations: {}, paths: [ROOT] } }, [backend.port]),
    args: ["--allow-loopback-upstreams"],
  });
  using client = await Peer.connect(proxy.httpPort);
  for (const target of ["//a", "/x/../a", "/%61%2f"]) {
    await client.ask(`GET ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`);
  }
  assert.deepEqual(received, ["//a", "/a", "/a%2F"]);
});
