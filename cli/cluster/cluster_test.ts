import assert from "node:assert/strict";
import { clusterRights } from "./cluster.ts";
import { credentialSource, defaultKubeconfig } from "./options.ts";

Deno.test("the thread that reads a cluster may dial its API server alone", () => {
  const rights = clusterRights(new URL("https://10.96.0.1"), ["/home/me/.kube/config"]);
  assert.deepEqual(rights.net, ["10.96.0.1:443"]);
  assert.deepEqual((rights.read as string[])[0], "/home/me/.kube/config");
  for (const [name, right] of Object.entries(rights)) {
    if (name !== "net" && name !== "read") assert.equal(right, false, name);
  }
  assert.deepEqual(clusterRights(new URL("https://[fd00::1]:6443"), []).net, ["[fd00::1]:6443"]);
});

Deno.test("the kubeconfig is those of KUBECONFIG, or that of the home folder", () => {
  const of = (values: Readonly<Record<string, string>>) =>
    defaultKubeconfig((name) => values[name]);
  assert.deepEqual(of({ KUBECONFIG: "/a", HOME: "/home/me" }), ["/a"]);
  assert.deepEqual(of({ KUBECONFIG: "", HOME: "/home/me" }), ["/home/me/.kube/config"]);
  assert.deepEqual(of({ USERPROFILE: "/Users/me" }), ["/Users/me/.kube/config"]);
  assert.deepEqual(of({}), []);
  if (Deno.build.os !== "windows") {
    assert.deepEqual(of({ KUBECONFIG: "/a:/b", HOME: "/home/me" }), ["/a", "/b"]);
    assert.deepEqual(of({ KUBECONFIG: ":/a", HOME: "/home/me" }), ["/a"]);
  }
});

Deno.test("in a pod, credentials are its service account's unless a kubeconfig is named", () => {
  const pod = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };
  const of = (
    values: Readonly<Record<string, string>>,
    choice: { readonly kubeconfig?: string; readonly context?: string } = {},
  ) =>
    credentialSource(
      { kubeconfig: null, context: null, timeout: 1, ...choice },
      (name) => values[name],
    );
  assert.deepEqual(of({ ...pod, HOME: "/root" }), {
    kind: "service-account",
    host: "10.96.0.1",
    port: "443",
    folder: "/var/run/secrets/kubernetes.io/serviceaccount",
  });
  const file = (name: string, context: string | null = null) => ({
    kind: "kubeconfig",
    file: name,
    others: [],
    context,
  });
  assert.deepEqual(of({ ...pod, KUBECONFIG: "/a" }), file("/a"));
  assert.deepEqual(of(pod, { kubeconfig: "/b" }), file("/b"));
  assert.deepEqual(of({ ...pod, HOME: "/me" }, { context: "c" }), file("/me/.kube/config", "c"));
  assert.equal(of({ KUBERNETES_SERVICE_HOST: "10.96.0.1" }), null);
});
