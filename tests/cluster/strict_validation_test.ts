/** What `deno task dev` says that strict validation refuses, by the real API server. */
import { equal, match, ok } from "node:assert/strict";
import { parse } from "yaml";
import { STRICT_MISTAKES, VALID } from "../support/strict_mistakes.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";

clusterTest("the API server accepts the manifests without an error", async (cluster) => {
  const namespace = await cluster.newNamespace("strict");
  for (const [name, text] of Object.entries(VALID)) {
    const { status, message } = await create(cluster, namespace, text);
    equal(status, 201, `${name}: ${message}`);
  }
});

clusterTest("the API server rejects each error of strict validation", async (cluster) => {
  const namespace = await cluster.newNamespace("strict");
  for (const { name, text, expected } of STRICT_MISTAKES) {
    const { status, message } = await create(cluster, namespace, text);
    ok(status === 400 || status === 422, `${name}: ${status} ${message}`);
    const reason = expected[3];
    if (reason === "FieldUnknown") match(message, /unknown field/, name);
    if (reason === "ValueNotString") match(message, /cannot unmarshal .* of type string/, name);
    if (reason === "ClassesDiffer") match(message, /must match `ingressClassName`/, name);
  }
});

async function create(
  cluster: TestCluster,
  namespace: string,
  text: string,
): Promise<{ readonly status: number; readonly message: string }> {
  const object = parse(text) as { readonly apiVersion: string; readonly kind: string };
  const path = await cluster.pathOf(object.apiVersion, object.kind, null, namespace);
  const query = "?dryRun=All&fieldValidation=Strict";
  const { status, body } = await cluster.request("POST", `${path}${query}`, object);
  return { status, message: String(body.message ?? "") };
}
