/**
 * Global authentication. In: Ingresses of the profile nginx, a ConfigMap with global-auth-url, and
 * requests over HTTP/1.1 and HTTP/2. Out: nothing forwarded that whoever authenticates has not admitted,
 * but for the paths that need no login.
 */
import assert from "node:assert/strict";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, refusingPort, reply, statusOf } from "../support/backend.ts";
import { type Field, headers } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

const PATHS = [["/", "Prefix"], ["/public", "Prefix"]] as const;

const INGRESSES: Readonly<Record<string, AnnotatedIngress>> = {
  all: { host: "all.test", annotations: {}, paths: PATHS },
  exempt: { host: "exempt.test", annotations: { "enable-global-auth": "false" }, paths: PATHS },
  own: { host: "own.test", annotations: { "auth-url": "http://own.default.svc/" }, paths: PATHS },
  solver: {
    host: "all.test",
    annotations: { "whitelist-source-range": "0.0.0.0/0,::/0" },
    paths: [["/.well-known/acme-challenge/token", "ImplementationSpecific"]],
  },
  any: { annotations: {}, paths: PATHS },
};

/** Who has this cookie is admitted by global-auth-url; nobody is by the auth-url of own.test. */
const GOOD = "s=good";

class Scene implements AsyncDisposable {
  readonly forwarded: string[] = [];
  readonly asked: string[] = [];
  readonly #web: Backend;
  readonly #auth: Backend;
  readonly #own: Backend;
  readonly proxy = new TestProxy([], { connectTimeout: 300, responseHeadTimeout: 300, tries: 1 });

  /** @param says The status for who has the cookie. */
  constructor(
    data: Readonly<Record<string, string>>,
    { ingresses = INGRESSES, says = 204, port }: {
      readonly ingresses?: Readonly<Record<string, AnnotatedIngress>>;
      readonly says?: number;
      /** Of whoever authenticates, in place of the one here. */
      readonly port?: number;
    } = {},
  ) {
    this.#web = answering((head) => {
      this.forwarded.push(head);
      return 200;
    });
    this.#auth = answering((head) => {
      this.asked.push(head);
      return head.includes(GOOD) ? says : 401;
    });
    this.#own = answering(() => 403);
    this.proxy.server.apply(annotatedSnapshot(ingresses, [this.#web.port], "nginx", [], {
      auth: port ?? this.#auth.port,
      own: this.#own.port,
    }, data));
  }

  /** The same over HTTP/1.1 and HTTP/2. */
  async status(host: string, path: string, cookie: string | null = null): Promise<number> {
    using client = await Peer.connect(this.proxy.port);
    const line = cookie === null ? "" : `Cookie: ${cookie}\r\n`;
    const status = statusOf(
      await client.ask(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${line}\r\n`),
    );
    await using other = await H2Peer.connect(this.proxy.port);
    const stream = other.nextStream();
    const fields: Field[] = [
      [":method", "GET"],
      [":scheme", "http"],
      [":authority", host],
      [":path", path],
    ];
    if (cookie !== null) fields.push(["cookie", cookie]);
    await other.send(headers(stream, fields, { end: true }));
    assert.equal((await other.answer(stream)).status, status, `HTTP/2 ${host}${path}`);
    return status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.proxy[Symbol.dispose]();
    for (const backend of [this.#web, this.#auth, this.#own]) await backend[Symbol.asyncDispose]();
  }
}

function answering(statusFor: (head: string) => number): Backend {
  return new Backend(async (peer) => {
    for (let one = await peer.request(); one !== null; one = await peer.request()) {
      const status = statusFor(one.head);
      await peer.send(
        status === 200
          ? reply("ok")
          : `HTTP/1.1 ${status} Verdict\r\n${status === 204 ? "" : "Content-Length: 0\r\n"}\r\n`,
      );
    }
  });
}

const URL = { "global-auth-url": "http://auth.default.svc/verify" };
const PUBLIC = { ...URL, "no-auth-locations": "/public, /.well-known/acme-challenge" };

/** Paths of all.test that need a login, whatever they look like. */
const PROTECTED = [
  ...["/", "/admin", "//admin", "/publi", "/publicity", "/PUBLIC", "/x/public", "/public;/x"],
  ...["/public/../admin", "/public/..%2fadmin", "/public%2f..%2fadmin", "/public/%2e%2e/admin"],
  ...[
    "/public/./../admin",
    "/public/%2E%2E%2Fadmin",
    "/public//../admin",
    "/public/..",
    "/%2fadmin",
  ],
  ...["/admin?/public", "/admin?q=/../public", "/.well-known/acme-challenge", "/.well-known/x"],
  ...["/.well-known/acme-challenge/toke", "/.well-known/acme-challenge/token/../../../admin"],
];

/** What nginx takes for a path below `/public`, or that of a challenge. */
const OPEN = [
  ...["/public", "/public/", "/public/x", "//public", "/%70ublic", "/./public", "/x/../public"],
  ...["/x/..%2fpublic", "/public?q=/../admin", "/public/../public/x", "/public/x/..%2fy"],
  ...["/.well-known/acme-challenge/token", "/.well-known//acme-challenge/token"],
];

Deno.test("global-auth-url protects each Ingress without a URL of its own, in every spelling of its paths", async () => {
  await using scene = new Scene(PUBLIC);
  for (const path of PROTECTED) {
    for (const cookie of [null, "s=bad"]) {
      assert.equal(await scene.status("all.test", path, cookie), 401, `${path} ${cookie}`);
    }
    assert.deepEqual(scene.forwarded, [], path);
    assert.equal(await scene.status("all.test", path, GOOD), 200, path);
    assert.equal(scene.forwarded.splice(0).length, 2, path);
  }
});

Deno.test("paths of no-auth-locations need no login, and challenges of certificates by default", async () => {
  await using scene = new Scene(PUBLIC);
  for (const path of OPEN) assert.equal(await scene.status("all.test", path), 200, path);
  assert.deepEqual(scene.asked, []);
  await using byDefault = new Scene(URL);
  assert.equal(await byDefault.status("all.test", "/.well-known/acme-challenge/token"), 200);
  assert.equal(await byDefault.status("all.test", "/public"), 401);
  await using none = new Scene({ ...URL, "no-auth-locations": "" });
  assert.equal(await none.status("all.test", "/.well-known/acme-challenge/token"), 401);
  assert.equal(none.forwarded.length, 0);
});

Deno.test("enable-global-auth false exempts an Ingress, and auth-url stands in its place", async () => {
  await using scene = new Scene(PUBLIC);
  for (const path of ["/", "/admin", "/public"]) {
    assert.equal(await scene.status("exempt.test", path), 200, path);
  }
  assert.deepEqual(scene.asked, []);
  assert.equal(scene.forwarded.splice(0).length, 6);
  assert.equal(await scene.status("own.test", "/", GOOD), 403);
  assert.equal(await scene.status("own.test", "/public"), 200);
  assert.deepEqual(scene.asked, []);
  assert.equal(scene.forwarded.length, 2);
});

Deno.test("global-auth-url protects rules without a host, too", async () => {
  await using scene = new Scene(PUBLIC);
  for (
    const [host, path, status] of [
      ["unknown.test", "/", 401],
      ["unknown.test", "/public/../x", 401],
      ["unknown.test", "/public", 200],
    ] as const
  ) assert.equal(await scene.status(host, path), status, `${host}${path}`);
  assert.equal(scene.forwarded.length, 2);
});

for (const [says, status] of [[200, 200], [401, 401], [403, 403], [302, 500], [500, 500]]) {
  Deno.test(`a response of global-auth-url with ${says} gives ${status}`, async () => {
    await using scene = new Scene(URL, { says });
    assert.equal(await scene.status("all.test", "/", GOOD), status);
    assert.equal(scene.forwarded.length, status === 200 ? 2 : 0);
  });
}

Deno.test("without an authentication server requests get 500 or 503, and paths without login are served", async () => {
  await using dead = new Scene(PUBLIC, { port: refusingPort() });
  await using missing = new Scene({
    ...PUBLIC,
    "global-auth-url": "http://none.elsewhere.svc.cluster.local/",
  });
  for (const [scene, status] of [[dead, 500], [missing, 503]] as const) {
    assert.equal(await scene.status("all.test", "/", GOOD), status);
    assert.equal(await scene.status("unknown.test", "/", GOOD), status);
    assert.equal(scene.forwarded.length, 0);
    assert.equal(await scene.status("all.test", "/public"), 200);
    assert.equal(await scene.status("exempt.test", "/"), 200);
  }
});

Deno.test("a key of global authentication that is not valid closes every path of the profile", async () => {
  for (
    const data of [
      { "global-auth-url": "auth.default.svc" },
      { "global-auth-url": "http://$http_x_auth/verify" },
      { ...PUBLIC, "global-auth-method": "FETCH" },
      { ...PUBLIC, "global-auth-response-headers": "Connection" },
      { ...PUBLIC, "global-auth-response-headers": "X-User, X-Request-ID" },
      { ...PUBLIC, "global-auth-response-headers": "X-Real-IP" },
      { ...PUBLIC, "global-auth-snippet": "proxy_set_header X-A b;" },
      { ...PUBLIC, "no-auth-locations": "/public, admin" },
    ]
  ) {
    await using scene = new Scene(data);
    for (const [host, path] of [["all.test", "/"], ["all.test", "/public"], ["exempt.test", "/"]]) {
      assert.equal(await scene.status(host, path, GOOD), 503, JSON.stringify(data));
    }
    assert.equal(scene.forwarded.length, 0);
  }
});

Deno.test("an Ingress with the host of global-auth-url does not authenticate the clients of others", async () => {
  const ingresses = {
    ...INGRESSES,
    thief: {
      host: "auth.invalid",
      annotations: { "enable-global-auth": "false" },
      paths: PATHS,
    },
  };
  await using scene = new Scene({ "global-auth-url": "http://auth.invalid/verify" }, { ingresses });
  assert.equal(await scene.status("all.test", "/"), 500);
  assert.equal(scene.forwarded.length, 0);
  assert.equal(await scene.status("auth.invalid", "/"), 200);
});

Deno.test("global-auth-url with the host of the request is served by a route of that host", async () => {
  const ingresses = {
    ...INGRESSES,
    login: {
      host: "all.test",
      annotations: { "enable-global-auth": "false", "auth-url": "http://auth.default.svc/" },
      paths: [["/oauth2", "Prefix"]] as const,
    },
    web: { host: "web.test", annotations: {}, paths: PATHS },
    open: {
      host: "web.test",
      annotations: { "enable-global-auth": "false" },
      paths: [["/oauth2", "Prefix"]] as const,
    },
  };
  await using scene = new Scene({ "global-auth-url": "https://$host/oauth2/auth" }, { ingresses });
  // The route of the URL must not need external authentication itself.
  assert.equal(await scene.status("all.test", "/", GOOD), 500);
  assert.equal(scene.forwarded.length, 0);
  assert.equal(await scene.status("web.test", "/x"), 200);
  assert.equal(scene.forwarded.length, 4);
  // Its host has no such route.
  assert.equal(await scene.status("own.test", "/", GOOD), 403);
  assert.equal(await scene.status("unknown.test", "/", GOOD), 500);
});

Deno.test("headers of global-auth-response-headers reach the backend, and the client's own never do", async () => {
  await using scene = new Scene({ ...URL, "global-auth-response-headers": "X-User" });
  using client = await Peer.connect(scene.proxy.port);
  const answer = await client.ask(
    `GET / HTTP/1.1\r\nHost: all.test\r\nCookie: ${GOOD}\r\nX-User: root\r\nX_User: root\r\n` +
      "X.User: root\r\n\r\n",
  );
  assert.equal(statusOf(answer), 200);
  assert.doesNotMatch(scene.forwarded[0], /root/);
  assert.doesNotMatch(scene.asked[0], /root/);
});
