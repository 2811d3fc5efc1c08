/** The profile nginx, from an IngressClass to what clients see. */
import assert from "node:assert/strict";
import { type TranslateOptions, Translator } from "../../controller/translate/translator.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { data, headers, post } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { TestProxy } from "../support/test_proxy.ts";

const OPTIONS: TranslateOptions = {
  ingressClasses: ["pingress"],
  controllerNames: ["pingress.io/ingress-controller"],
  watchIngressWithoutClass: false,
  defaultBackend: null,
  allowExternalName: false,
  defaultCertificate: null,
  acceptUnsupported: [],
  allowAcceptUnsupportedAnnotation: false,
  allowLocalEndpoints: true,
  hostOwnership: "namespace",
  version: { epoch: "test", seen: {} },
};

const MIB = 1024 * 1024;

function resourcesOf(
  port: number,
  annotations: Readonly<Record<string, string>>,
  ingress: typeof INGRESS = INGRESS,
) {
  return {
    ingresses: [ingress],
    ingressClasses: [{
      metadata: { name: "legacy", annotations },
      spec: { controller: "pingress.io/ingress-controller" },
    }],
    services: [{
      metadata: { namespace: "default", name: "web" },
      spec: { ports: [{ port: 80, targetPort: port }] },
    }],
    endpointSlices: [{
      metadata: {
        namespace: "default",
        name: "web-1",
        labels: { "kubernetes.io/service-name": "web" },
      },
      addressType: "IPv4",
      ports: [{ port }],
      endpoints: [{ addresses: ["127.0.0.1"] }],
    }],
    secrets: [],
    namespaces: [],
  };
}

/** One object, as an informer keeps it while only its class changes. */
const INGRESS = {
  metadata: { namespace: "default", name: "web" },
  spec: {
    ingressClassName: "legacy",
    rules: [{
      http: {
        paths: [{
          path: "/api",
          pathType: "ImplementationSpecific",
          backend: { service: { name: "web", port: { number: 80 } } },
        }],
      },
    }],
  },
};

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a.test\r\n\r\n`;
}

function put(path: string, body: string): string {
  return `PUT ${path} HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

async function statusFor(port: number, request: string): Promise<number> {
  using client = await Peer.connect(port);
  return statusOf(await client.ask(request));
}

Deno.test("an IngressClass that gets and loses the profile nginx changes running proxies", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  const translator = new Translator();
  const inProfile = { "pingress.io/profile": "nginx" };
  for (
    const [annotations, taken] of [[{}, false], [inProfile, true], [{}, false]] as const
  ) {
    const resources = resourcesOf(backend.port, annotations);
    proxy.server.apply(translator.translate(resources, null, OPTIONS, () => 0).snapshot);
    for (
      const [path, status] of [
        ["/api", 200],
        ["/api/", 200],
        ["/api/v1", 200],
        ["/apis", 404],
        ["//api", taken ? 200 : 404],
        ["/ap", 404],
      ] as const
    ) {
      assert.equal(await statusFor(proxy.port, get(path)), status, `${path}, profile: ${taken}`);
    }
  }
});

Deno.test("a protected path is served while its class has the profile nginx, and else closed", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  const translator = new Translator();
  const list = { "nginx.ingress.kubernetes.io/whitelist-source-range": "127.0.0.0/8" };
  const ingress = { ...INGRESS, metadata: { ...INGRESS.metadata, annotations: list } };
  const inProfile = { "pingress.io/profile": "nginx" };
  for (const [annotations, status] of [[{}, 503], [inProfile, 200], [{}, 503]] as const) {
    const resources = resourcesOf(backend.port, annotations, ingress);
    const { snapshot, problems } = translator.translate(resources, null, OPTIONS, () => 0);
    proxy.server.apply(snapshot);
    assert.equal(await statusFor(proxy.port, get("/api")), status);
    const remedies = problems.map(({ remedy }) => remedy).join();
    assert.equal(
      /annotate the IngressClass with pingress.io\/profile: nginx/.test(remedies),
      status === 503,
    );
  }
});

Deno.test("the profile nginx limits bodies to 1 MiB, over HTTP/1.1 and HTTP/2", async () => {
  await using backend = new Backend();
  using proxy = new TestProxy([]);
  for (
    const [annotations, larger] of [[{}, 200], [{ "pingress.io/profile": "nginx" }, 413]] as const
  ) {
    const resources = resourcesOf(backend.port, annotations);
    proxy.server.apply(new Translator().translate(resources, null, OPTIONS, () => 0).snapshot);
    for (const [size, status] of [[MIB, 200], [MIB + 1, larger]] as const) {
      assert.equal(await statusFor(proxy.port, put("/api", "x".repeat(size))), status, `${size}`);
    }
  }
  await using client = await H2Peer.connect(proxy.port);
  const length = ["content-length", String(MIB + 1)] as const;
  await client.send(headers(1, post("/api", [length])), data(1, "x"));
  assert.equal((await client.answer(1)).status, 413);
});
