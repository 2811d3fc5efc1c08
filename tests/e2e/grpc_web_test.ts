/**
 * gRPC-Web as a browser's page calls it: the client of the npm package grpc-web in headless Chromium,
 * over HTTPS with HTTP/2, to a server of grpc-js that knows gRPC alone. The page and the service
 * share a host.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Metadata, type sendUnaryData, type ServerUnaryCall, status } from "@grpc/grpc-js";
import { StatusCode } from "grpc-web";
import { GrpcServer } from "../support/grpc_server.ts";
import { canTrust, dumpDom, findBrowser } from "./browser.ts";
import { DevTask } from "./dev_task.ts";

const manifests = (pages: number, rpc: number) => `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: rpc, namespace: default }
spec:
  rules:
    - host: rpc.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: pages, port: { number: 80 } } }
          - path: /demo.Greeter
            pathType: Prefix
            backend: { service: { name: rpc, port: { number: 50051 } } }
          - path: /demo.Nobody
            pathType: Prefix
            backend: { service: { name: nobody, port: { number: 50051 } } }
---
apiVersion: v1
kind: Service
metadata:
  name: pages
  namespace: default
  annotations: { dev.pingress.io/endpoint: "127.0.0.1:${pages}" }
spec: { ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Service
metadata:
  name: rpc
  namespace: default
  annotations: { dev.pingress.io/endpoint: "127.0.0.1:${rpc}", pingress.io/grpc-web: "true" }
spec: { ports: [{ port: 50051, appProtocol: grpc }] }
---
apiVersion: v1
kind: Service
metadata:
  name: nobody
  namespace: default
  annotations: { dev.pingress.io/endpoint: "127.0.0.1:1", pingress.io/grpc-web: "true" }
spec: { ports: [{ port: 50051, appProtocol: grpc }] }
`;

/** What the page reports of one call. */
interface Report {
  readonly messages: readonly string[];
  readonly code: number;
  readonly details: string;
  readonly trailer: string | null;
}

interface Reports {
  /** What the page's script did not expect. */
  readonly failed?: string;
  readonly unaryText: Report;
  readonly unaryBinary: Report;
  readonly stream: Report;
  readonly missing: Report;
  readonly nobody: Report;
  /** When the first message of a stream came, the last had not been sent. */
  readonly firstAlone: boolean;
  readonly protocols: readonly string[];
}

/** It is loaded when its image is, and that comes when it has reported. */
const PAGE = `<!doctype html><title>rpc</title><p id="state">calling</p><img src="/late.svg">
<script type="module">
import { GrpcWebClientBase, MethodDescriptor, MethodType } from "/grpc-web.js";
const encode = (text) => new TextEncoder().encode(text);
const decode = (bytes) => new TextDecoder().decode(bytes);
const method = (name, type) => new MethodDescriptor(name, type, Object, Object, encode, decode);

function call(format, name, type, request) {
  const client = new GrpcWebClientBase({ format });
  const report = { messages: [], code: 0, details: "", trailer: null };
  return new Promise((resolve) => {
    const path = location.origin + name;
    const settled = ({ code, details, message, metadata = {} }) => {
      report.code = code;
      report.details = details ?? message ?? "";
      report.trailer = metadata["x-last"] ?? report.trailer;
    };
    if (type === MethodType.UNARY) {
      const stream = client.rpcCall(path, request, { "x-meta": "from the page" },
        method(name, type), (error, response) => {
          if (error) settled(error);
          else report.messages.push(response);
          setTimeout(() => resolve(report));
        });
      stream.on("status", settled);
      return;
    }
    const stream = client.serverStreaming(path, request, {}, method(name, type));
    stream.on("data", (response) => report.messages.push(response));
    stream.on("status", settled);
    stream.on("error", (error) => { settled(error); resolve(report); });
    stream.on("end", () => resolve(report));
  });
}

/** Whether a message of a stream that goes on can be read: then it is told to end. */
async function firstAlone() {
  const answer = await fetch("/demo.Greeter/Wait", {
    method: "POST",
    headers: { "content-type": "application/grpc-web+proto" },
    body: new Uint8Array([0, 0, 0, 0, 1, 0x61]),
  });
  const reader = answer.body.getReader();
  const { value } = await reader.read();
  await fetch("/go-on", { method: "POST" });
  let rest = "";
  for (let part; !(part = await reader.read()).done;) rest += decode(part.value);
  return decode(value.subarray(5)) === "first" && rest.includes("last") &&
    rest.includes("grpc-status: 0");
}

const { UNARY, SERVER_STREAMING } = MethodType;
const report = (body) => fetch("/report", { method: "POST", body: JSON.stringify(body) });
async function callAll() {
  return {
    unaryText: await call("text", "/demo.Greeter/Greet", UNARY, "text"),
    unaryBinary: await call("binary", "/demo.Greeter/Greet", UNARY, "binary"),
    stream: await call("text", "/demo.Greeter/Count", SERVER_STREAMING, "4"),
    missing: await call("binary", "/demo.Greeter/Missing", UNARY, "x"),
    nobody: await call("binary", "/demo.Nobody/Greet", UNARY, "x"),
    firstAlone: await firstAlone(),
    protocols: performance.getEntriesByType("resource")
      .filter(({ name }) => name.includes("/demo."))
      .map(({ nextHopProtocol }) => nextHopProtocol),
  };
}

const reports = await callAll().catch((error) => ({ failed: String(error) }));
document.getElementById("state").textContent = "reported";
await report(reports);
</script>`;

const MODULE = new URL("index.esm.js", import.meta.resolve("grpc-web"));

const IMAGE = '<svg xmlns="http://www.w3.org/2000/svg"/>';

/** The site that the page comes from, and that it reports to. */
function startPages() {
  const report = Promise.withResolvers<Partial<Reports>>();
  const goOn = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    switch (new URL(request.url).pathname) {
      case "/late.svg":
        await report.promise;
        return new Response(IMAGE, { headers: { "content-type": "image/svg+xml" } });
      case "/grpc-web.js":
        return new Response(await Deno.readTextFile(MODULE), {
          headers: { "content-type": "text/javascript" },
        });
      case "/go-on":
        goOn.resolve();
        return new Response();
      case "/report":
        report.resolve(await request.json());
        return new Response();
      default:
        return new Response(PAGE, { headers: { "content-type": "text/html" } });
    }
  });
  return {
    server,
    goOn: goOn.promise,
    /** What has been reported until now; then nobody is waited for any more. */
    reported: () => {
      report.resolve({ failed: "the page has reported nothing" });
      goOn.resolve();
      return report.promise;
    },
  };
}

interface Stream {
  readonly request: string;
  write(text: string): void;
  end(): void;
}

function startGreeter(goOn: Promise<void>): Promise<GrpcServer> {
  const methods = { unary: ["Greet", "Missing"], serverStreaming: ["Count", "Wait"] };
  type Unary = ServerUnaryCall<string, string>;
  return GrpcServer.start("demo.Greeter", methods, {
    Greet: ({ request, metadata }: Unary, done: sendUnaryData<string>) => {
      const trailers = new Metadata();
      trailers.set("x-last", "trailer");
      done(null, `${request} ${metadata.get("x-meta")}`, trailers);
    },
    Missing: (_call: Unary, done: sendUnaryData<string>) => {
      done({ code: status.NOT_FOUND, details: "nothing of that name: ä" });
    },
    Count: (stream: Stream) => {
      for (let i = 1; i <= Number(stream.request); i++) stream.write(`message ${i}`);
      stream.end();
    },
    Wait: async (stream: Stream) => {
      stream.write("first");
      await goOn;
      stream.write("last");
      stream.end();
    },
  });
}

Deno.test("a page calls a gRPC server with gRPC-Web, over HTTP/2 with TLS", async () => {
  const name = "gRPC-Web from a page";
  const browser = await findBrowser(name);
  if (browser === null || !await canTrust(name)) return;
  const folder = await Deno.makeTempDir();
  const pages = startPages();
  using greeter = await startGreeter(pages.goOn);
  try {
    const file = join(folder, "rpc.yaml");
    await Deno.writeTextFile(file, manifests(pages.server.addr.port, greeter.port));
    await using dev = await DevTask.start(folder);
    const answer = await fetch(`http://127.0.0.1:${dev.admin}/ca.crt`);
    const authority = join(folder, "ca.pem");
    await Deno.writeTextFile(authority, await answer.text());
    const page = await dumpDom(browser, `https://rpc.example.com:${dev.https}/`, { authority });
    const reports = await pages.reported();
    assert.equal(reports.failed, undefined, page);
    assert.match(page, /<p id="state">reported<\/p>/);
    const greeted = { code: StatusCode.OK, details: "OK", trailer: "trailer" };
    assert.deepEqual(reports.unaryText, { ...greeted, messages: ["text from the page"] });
    assert.deepEqual(reports.unaryBinary, { ...greeted, messages: ["binary from the page"] });
    assert.deepEqual(
      [reports.stream?.messages, reports.stream?.code],
      [["message 1", "message 2", "message 3", "message 4"], StatusCode.OK],
    );
    assert.deepEqual(
      [reports.missing?.code, reports.missing?.details],
      [StatusCode.NOT_FOUND, "nothing of that name: ä"],
    );
    assert.deepEqual(
      [reports.nobody?.code, reports.nobody?.details],
      [StatusCode.UNAVAILABLE, "The backend cannot be reached"],
    );
    assert.equal(reports.firstAlone, true);
    assert.deepEqual([...new Set(reports.protocols)], ["h2"]);
  } finally {
    await pages.reported();
    await pages.server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
});
