/** Annotations of ingress-nginx for backends, from the Ingress to what clients and backends see. */
import assert from "node:assert/strict";
import { translate, type TranslateOptions } from "../../controller/translate/translator.ts";
import { Backend, Peer, reply, statusOf, until } from "../support/backend.ts";
import { data, headers, post } from "../support/h2_frames.ts";
import { answerText, H2Server } from "../support/h2_backend.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { ObservedProxy } from "../support/observed_proxy.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { TlsBackend } from "../support/tls_backend.ts";
import { certificateFor } from "../support/tls_proxy.ts";

const OPTIONS: TranslateOptions = {
  ingressClasses: ["pingress"],
  controllerNames: [],
  watchIngressWithoutClass: false,
  defaultBackend: null,
  allowExternalName: false,
  defaultCertificate: null,
  acceptUnsupported: ["proxy-body-size", "backend-protocol"],
  allowAcceptUnsupportedAnnotation: false,
  allowLocalEndpoints: true,
  hostOwnership: "namespace",
  version: { epoch: "test", seen: {} },
};

type Annotations = Readonly<Record<string, string>>;

/** Endpoints of a Service on these ports. */
function slicesOf(service: string, ports: readonly number[]) {
  return ports.map((port, i) => ({
    metadata: {
      namespace: "default",
      name: `${service}-${i}`,
      labels: { "kubernetes.io/service-name": service },
    },
    addressType: "IPv4",
    ports: [{ port }],
    endpoints: [{ addresses: ["127.0.0.1"] }],
  }));
}

/**
 * The path `/NAME` of any host, with the annotations of each name, to endpoints on these ports.
 *
 * @param errors of the Service `errors`.
 */
function snapshotOf(
  routes: Readonly<Record<string, Annotations>>,
  ports: readonly number[],
  errors: readonly number[] = [],
) {
  const services = ["web", "errors"].map((name) => ({
    metadata: { namespace: "default", name },
    spec: { ports: [{ port: 80 }] },
  }));
  const ingresses = Object.entries(routes).map(([name, annotations]) => ({
    metadata: {
      namespace: "default",
      name,
      annotations: Object.fromEntries(
        Object.entries(annotations).map((
          [key, text],
        ) => [`nginx.ingress.kubernetes.io/${key}`, text]),
      ),
    },
    spec: {
      ingressClassName: "pingress",
      rules: [{
        http: {
          paths: [{
            path: `/${name}`,
            pathType: "Prefix",
            backend: { service: { name: "web", port: { number: 80 } } },
          }],
        },
      }],
    },
  }));
  const resources = {
    ingresses,
    ingressClasses: [],
    services,
    endpointSlices: [...slicesOf("web", ports), ...slicesOf("errors", errors)],
    secrets: [],
    namespaces: [],
  };
  return translate(resources, null, OPTIONS, () => 0).snapshot;
}

const GET = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`;
const PUT = (path: string, body: string) =>
  `PUT ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

async function statusFor(port: number, request: string): Promise<number> {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(request));
}

Deno.test("proxy-body-size limits bodies of its Ingress alone, over HTTP/1.1 and HTTP/2", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  const routes = { small: { "proxy-body-size": "1k" }, any: { "proxy-body-size": "0" }, plain: {} };
  proxy.server.apply(snapshotOf(routes, [backend.port]));
  const [kib, more] = ["x".repeat(1024), "x".repeat(1025)];
  for (
    const [path, body, status] of [
      ["/small", kib, 200],
      ["/small", more, 413],
      ["/any", more, 200],
      ["/plain", more, 200],
    ] as const
  ) {
    assert.equal(await statusFor(proxy.port, PUT(path, body)), status, `${path} ${body.length}`);
    await using client = await H2Peer.connect(proxy.port);
    await client.send(headers(1, post(path)), data(1, body, { end: true }));
    assert.equal((await client.answer(1)).status, status, `${path} ${body.length} over HTTP/2`);
  }
});

Deno.test("proxy-read-timeout ends the wait for a response with 504, for its Ingress alone", async () => {
  await using backend = new Backend(async (peer) => {
    const asked = await peer.request();
    if (asked?.head.startsWith("GET /plain")) await peer.send(reply("ok"));
    await peer.ended();
  });
  using proxy = new TestProxy([]);
  const routes = { short: { "proxy-read-timeout": "1" }, plain: {} };
  proxy.server.apply(snapshotOf(routes, [backend.port]));
  assert.equal(await statusFor(proxy.port, GET("/short")), 504);
  assert.equal(await statusFor(proxy.port, GET("/plain")), 200);
});

Deno.test("proxy-next-upstream says after which responses another endpoint is tried", async () => {
  const answering = (status: string) =>
    new Backend(async (peer) => {
      while (await peer.request() !== null) await peer.send(reply("x").replace("200 OK", status));
    });
  await using failing = answering("503 Service Unavailable");
  await using other = answering("200 OK");
  using proxy = new TestProxy([], { ejectionAnswers: 0 });
  const on = (failures: string) => ({ "proxy-next-upstream": failures });
  const routes = {
    retried: on("error http_503"),
    once: { ...on("http_503"), "proxy-next-upstream-tries": "1" },
    other: on("error timeout"),
    any: on("http_503 non_idempotent"),
  };
  proxy.server.apply(snapshotOf(routes, [failing.port, other.port]));
  const POST = (path: string) => PUT(path, "abc").replace("PUT", "POST");
  for (
    const [request, expected] of [
      [GET("/retried"), [200, 200]],
      [POST("/retried"), [200, 503]],
      [GET("/once"), [200, 503]],
      [GET("/other"), [200, 503]],
      [POST("/any"), [200, 200]],
    ] as const
  ) {
    const statuses = [
      await statusFor(proxy.port, request),
      await statusFor(proxy.port, request),
    ];
    assert.deepEqual(statuses.sort(), expected, request);
  }
});

Deno.test("backend-protocol chooses HTTP/2 or TLS for a Service that says nothing", async () => {
  await using plain = new Backend();
  await using http2 = await H2Server.start(answerText("over HTTP/2"));
  await using secure = await TlsBackend.start(await certificateFor("x", { names: ["x.test"] }));
  for (
    const [values, port, body] of [
      [{}, plain.port, "ok"],
      [{ "backend-protocol": "HTTP" }, plain.port, "ok"],
      [{ "backend-protocol": "GRPC" }, http2.port, "over HTTP/2"],
      // Neither verified nor told a name.
      [{ "backend-protocol": "HTTPS" }, secure.port, "- unknown http/1.1"],
      [
        { "backend-protocol": "HTTPS", "proxy-ssl-name": "y.test", "proxy-ssl-server-name": "on" },
        secure.port,
        "y.test unknown http/1.1",
      ],
    ] as const
  ) {
    using proxy = new TestProxy([]);
    proxy.server.apply(snapshotOf({ a: values }, [port]));
    using client = await Peer.connect(proxy.port);
    const answer = await client.ask(GET("/a"));
    assert.deepEqual([statusOf(answer), answer.body], [200, body], JSON.stringify(values));
    await using overHttp2 = await H2Peer.connect(proxy.port);
    await overHttp2.send(headers(1, post("/a"), { end: true }));
    assert.equal((await overHttp2.answer(1)).status, 200, JSON.stringify(values));
  }
});

Deno.test("proxy-ssl-verify lets no request through to a backend that is not trusted", async () => {
  await using secure = await TlsBackend.start(await certificateFor("x", { names: ["x.test"] }));
  using proxy = new TestProxy([]);
  const values = {
    "backend-protocol": "HTTPS",
    "proxy-ssl-verify": "on",
    "proxy-ssl-name": "x.test",
  };
  proxy.server.apply(snapshotOf({ a: values }, [secure.port]));
  assert.equal(await statusFor(proxy.port, GET("/a")), 502);
  assert.deepEqual(proxy.codes, ["upstream_untrusted"]);
});

Deno.test("proxy-ssl-verify-depth allows one intermediate certificate by default, and for 0", () => {
  for (const [value, expected] of [["", 1], ["0", 1], ["2", 2]] as const) {
    const values = { "backend-protocol": "HTTPS", "proxy-ssl-verify": "on" };
    const depth: Annotations = value === "" ? {} : { "proxy-ssl-verify-depth": value };
    const [upstream] = snapshotOf({ a: { ...values, ...depth } }, [1]).upstreams;
    assert.equal(upstream.tls?.verifyDepth, expected, value);
  }
});

Deno.test("default-backend gets the requests for a Service without endpoints", async () => {
  await using backend = new Backend();
  await using errors = new Backend(async (peer) => {
    while (await peer.request() !== null) await peer.send(reply("we are back soon"));
  });
  using proxy = new TestProxy([]);
  const routes = { a: { "default-backend": "errors" }, plain: {} };
  for (
    const [ports, others, a, plain] of [
      [[], [errors.port], "200 we are back soon", "503"],
      [[backend.port], [errors.port], "200 ok", "200 ok"],
      [[], [], "503", "503"],
    ] as const
  ) {
    proxy.server.apply(snapshotOf(routes, ports, others));
    for (const [path, expected] of [["/a", a], ["/plain", plain]]) {
      using client = await Peer.connect(proxy.port);
      const answer = await client.ask(GET(path));
      const status = statusOf(answer);
      assert.equal(status === 200 ? `200 ${answer.body}` : String(status), expected, path);
    }
  }
});

Deno.test("enable-access-log and connection-proxy-header concern their Ingress alone", async () => {
  await using backend = new Backend();
  using observed = new ObservedProxy([]);
  const routes = {
    quiet: { "enable-access-log": "false" },
    once: { "connection-proxy-header": "close" },
    plain: {},
  };
  observed.proxy.server.apply(snapshotOf(routes, [backend.port]));
  const connections: number[] = [];
  for (const path of ["/plain", "/plain", "/once", "/once", "/quiet", "/plain"]) {
    assert.equal(await statusFor(observed.port, GET(path)), 200);
    connections.push(backend.accepted);
  }
  assert.deepEqual(connections, [1, 1, 1, 2, 3, 3]);
  await until("the lines are there", () => observed.written.split("/plain").length > 3);
  const paths = (await observed.lines()).map(({ path }) => path);
  assert.deepEqual(paths, ["/plain", "/plain", "/once", "/once", "/plain"]);
});
