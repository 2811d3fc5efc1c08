/** Requests to pods, through a server that forwards ports as API server and kubelet do. */
import assert from "node:assert/strict";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { loadCredentials } from "../../controller/kube/credentials.ts";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { kubeconfigText } from "../../tests/cluster/support/kubeconfig.ts";
import { PortForwarder } from "../../tests/support/port_forwarder.ts";
import { getFromPod } from "./port_forward.ts";

const REQUEST = { namespace: "pingress-system", pod: "controller-a", path: "/proxies" };

async function serverIdentity() {
  const authority = await CertificateAuthority.create("Pingress tests");
  const { chain: cert, key } = await authority.issue({ names: ["127.0.0.1"] });
  return { ca: authority.certificate, cert, key: key.reveal() };
}

async function credentialsFor(ca: string, port: number) {
  const file = await Deno.makeTempFile();
  const credentials = { token: "the-token" };
  const server = `https://127.0.0.1:${port}`;
  await Deno.writeTextFile(file, kubeconfigText({ server, caPem: ca, credentials }));
  const loaded = loadCredentials({ kind: "kubeconfig", file, context: null });
  assert.ok(loaded.ok);
  return {
    credentials: loaded.credentials,
    close: async () => {
      loaded.credentials.close();
      await Deno.remove(file);
    },
  };
}

/** A page of an admin port, chunked as ours are. */
function startPage(text: string) {
  return Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ({ url }) =>
      new URL(url).pathname === REQUEST.path
        ? new Response(new Blob([text]).stream(), { headers: { connection: "close" } })
        : new Response("none\n", { status: 404 }),
  );
}

for (
  const [name, text] of [
    ["a page", '{"proxies":[]}'],
    ["a page of 3 MiB", JSON.stringify("ü".repeat(1_500_000))],
  ] as const
) {
  Deno.test(`${name} of a pod comes whole`, async () => {
    const { ca, cert, key } = await serverIdentity();
    await using forwarder = await PortForwarder.start({ cert, key, parameter: "ports" });
    const page = startPage(text);
    const { credentials, close } = await credentialsFor(ca, forwarder.port);
    const { port } = page.addr;
    const answer = await getFromPod(
      credentials,
      { ...REQUEST, port },
      AbortSignal.timeout(20_000),
    );
    await close();
    await page.shutdown();
    assert.ok(answer.ok, JSON.stringify(answer));
    assert.equal(answer.value.status, 200);
    assert.equal(answer.value.body === text, true);
    assert.deepEqual(forwarder.forwarded, [
      `/api/v1/namespaces/pingress-system/pods/controller-a/portforward ${port}`,
    ]);
  });
}

Deno.test("a port on which nobody listens is a value, with the port", async () => {
  const { ca, cert, key } = await serverIdentity();
  await using forwarder = await PortForwarder.start({ cert, key, parameter: "ports" });
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = free.addr;
  free.close();
  const { credentials, close } = await credentialsFor(ca, forwarder.port);
  const answer = await getFromPod(credentials, { ...REQUEST, port }, AbortSignal.timeout(20_000));
  await close();
  assert.ok(!answer.ok);
  assert.equal(answer.error.code, 0);
  assert.match(answer.error.message, new RegExp(`^port ${port}: `));
});

Deno.test("a refusal of the API server is a value, with its message", async () => {
  const { ca, cert, key } = await serverIdentity();
  let token = "";
  const server = https.createServer({ cert, key });
  server.on("upgrade", (request, socket) => {
    token = String(request.headers.authorization);
    const body = JSON.stringify({ kind: "Status", reason: "Forbidden", message: "you may not" });
    socket.end(
      "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nconnection: close\r\n" +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { credentials, close } = await credentialsFor(ca, port);
  const answer = await getFromPod(
    credentials,
    { ...REQUEST, port: 9091 },
    AbortSignal.timeout(20_000),
  );
  await close();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(!answer.ok);
  const { code, reason, message } = answer.error;
  assert.deepEqual([code, reason, message], [403, "Forbidden", "you may not"]);
  assert.equal(token, "Bearer the-token");
});

Deno.test("a server that stalls is given up in time", async () => {
  const { ca, cert, key } = await serverIdentity();
  const server = https.createServer({ cert, key });
  server.on("upgrade", (_request, socket) => void socket.on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { credentials, close } = await credentialsFor(ca, port);
  const answer = await getFromPod(credentials, { ...REQUEST, port: 1 }, AbortSignal.timeout(300));
  await close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  assert.ok(!answer.ok);
  assert.equal(answer.error.reason, "Aborted");
});
