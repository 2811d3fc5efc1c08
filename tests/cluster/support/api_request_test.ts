import assert from "node:assert/strict";
import { parseApiRequest } from "./api_request.ts";

const CASES: readonly [string, string, string][] = [
  ["GET", "/api/v1/namespaces/a/configmaps/b", "get configmaps  a b "],
  ["GET", "/api/v1/configmaps?limit=500", "list configmaps   "],
  ["GET", "/api/v1/configmaps?watch=true&resourceVersion=1", "watch configmaps   "],
  ["GET", "/apis/networking.k8s.io/v1/ingresses?watch=1", "watch ingresses   "],
  ["GET", "/api/v1/namespaces/kube-system", "get namespaces  kube-system kube-system "],
  ["GET", "/api/v1/namespaces", "list namespaces   "],
  ["PUT", "/api/v1/namespaces/a/finalize", "update namespaces finalize a a "],
  [
    "PATCH",
    "/apis/networking.k8s.io/v1/namespaces/a/ingresses/b/status",
    "patch ingresses status a b ",
  ],
  ["POST", "/apis/events.k8s.io/v1/namespaces/a/events", "create events  a  "],
  ["DELETE", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b", "delete leases  a b "],
  ["DELETE", "/api/v1/namespaces/a/secrets", "deletecollection secrets  a  "],
  ["GET", "/readyz", "none    "],
  ["GET", "/apis/networking.k8s.io/v1", "none    "],
];

Deno.test("a request's path is parsed as by RBAC", () => {
  for (const [method, url, expected] of CASES) {
    const { verb, resource, subresource, namespace, name } = parseApiRequest(method, url);
    const read = [verb, resource, subresource, namespace, name].join(" ").trimEnd();
    assert.equal(read, expected.trimEnd(), `${method} ${url}`);
  }
});
