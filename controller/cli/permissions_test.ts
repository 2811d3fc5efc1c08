import assert from "node:assert/strict";
import { resolve } from "node:path";
import { missingRight } from "../../shared/rights.ts";
import { workerRights } from "./permissions.ts";

const NEEDED = {
  server: new URL("https://10.96.0.1:443"),
  files: ["/var/run/secrets/kubernetes.io/serviceaccount"],
  podTemplate: null,
  admin: { hostname: "127.0.0.1", port: 9091 },
  stream: { hostname: "127.0.0.1", port: 9443 },
};

Deno.test("network permissions cover one API server and two listeners", () => {
  const cases: readonly [string, { hostname: string; port: number }, readonly string[]][] = [
    // Deno's URL leaves a scheme's own port out.
    ["https://10.96.0.1:443", NEEDED.admin, ["10.96.0.1:443", "127.0.0.1:9091"]],
    ["https://[fd00::1]:6443", { hostname: "::", port: 9091 }, ["[fd00::1]:6443", "[::]:9091"]],
    ["https://api.example.com/k8s/clusters/c-1", NEEDED.admin, [
      "api.example.com:443",
      "127.0.0.1:9091",
    ]],
    ["https://localhost:6443", { hostname: "127.0.0.1", port: 0 }, [
      "localhost:6443",
      "127.0.0.1",
    ]],
    ["https://localhost:6443", { hostname: "::1", port: 0 }, ["localhost:6443", "[::1]"]],
  ];
  for (const [server, admin, net] of cases) {
    const rights = workerRights({ ...NEEDED, server: new URL(server), admin });
    assert.deepEqual(rights.net, [...net, "127.0.0.1:9443"]);
  }
});

Deno.test("the stream listens on IPv4 only if IPv6 is unavailable", () => {
  const { net } = workerRights({ ...NEEDED, stream: { hostname: "::", port: 9443 } });
  assert.deepEqual(net.slice(2), ["[::]:9443", "0.0.0.0:9443"]);
});

Deno.test("with Gateway API, streams of other replicas may be dialled, and nothing else of the network", () => {
  const { net } = workerRights({ ...NEEDED, relays: true });
  assert.deepEqual(net.slice(2), ["127.0.0.1:9443", "0.0.0.0/0:9443"]);
  const anyPort = workerRights({
    ...NEEDED,
    relays: true,
    stream: { hostname: "127.0.0.1", port: 0 },
  });
  assert.deepEqual(anyPort.net.slice(2), ["127.0.0.1", "127.0.0.1"]);
});

Deno.test("read permissions cover credentials, the pod template and the code itself", () => {
  const { read } = workerRights({ ...NEEDED, files: ["kube/config"], podTemplate: "pods.yaml" });
  const here = resolve(import.meta.dirname!, "..");
  assert.deepEqual(read, [
    resolve("kube/config"),
    resolve("pods.yaml"),
    here,
    resolve(here, "../shared"),
  ]);
});

Deno.test("no other permission is granted", () => {
  const { net: _net, read: _read, ...rest } = workerRights(NEEDED);
  for (const [name, right] of Object.entries(rest)) assert.equal(right, false, name);
});

Deno.test("a missing network permission is reported as the flag that grants it", {
  permissions: { read: true, net: ["10.96.0.1:443", "127.0.0.1:9443"] },
}, () => {
  assert.equal(missingRight(workerRights(NEEDED)), "--allow-net=127.0.0.1:9091");
});

Deno.test("a missing read permission is reported as the flag that grants it", {
  permissions: { read: [resolve(import.meta.dirname!, "../..")], net: true },
}, () => {
  assert.equal(
    missingRight(workerRights(NEEDED)),
    "--allow-read=/var/run/secrets/kubernetes.io/serviceaccount",
  );
});
