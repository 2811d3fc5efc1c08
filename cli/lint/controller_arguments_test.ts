import assert from "node:assert/strict";
import { argumentFindings, argumentsOf, KNOWN_ARGUMENTS } from "./controller_arguments.ts";

const CONTEXT = {
  nginxClasses: ["nginx"],
  controllerNames: ["k8s.io/ingress-nginx"],
  watchNamespaces: [],
  namespace: "edge",
  hasConfigMap: false,
  hasCatchAll: false,
};

/** Of ingress-nginx's controller 1.11. */
const UPSTREAM = `annotations-prefix apiserver-host certificate-authority configmap controller-class
deep-inspect default-backend-service default-server-port default-ssl-certificate disable-catch-all
disable-full-test disable-leader-election disable-svc-external-name disable-sync-events
dynamic-configuration-retries election-id election-ttl enable-annotation-validation enable-metrics
enable-ssl-chain-completion enable-ssl-passthrough enable-topology-aware-routing
exclude-socket-metrics health-check-path health-check-timeout healthz-host healthz-port http-port
https-port ingress-class ingress-class-by-name internal-logger-address kubeconfig length-buckets
metrics-per-host monitor-max-batch-size post-shutdown-grace-period profiler-address profiler-port
profiling publish-service publish-status-address report-node-internal-ip-address
report-status-classes shutdown-grace-period size-buckets ssl-passthrough-proxy-port status-port
status-update-interval stream-port sync-period tcp-services-configmap time-buckets
udp-services-configmap update-status update-status-on-shutdown validating-webhook
validating-webhook-certificate validating-webhook-key version watch-ingress-without-class
watch-namespace watch-namespace-selector`.split(/\s+/);

Deno.test("every argument of ingress-nginx is known", () => {
  assert.deepEqual(UPSTREAM.filter((name) => !KNOWN_ARGUMENTS.includes(name)), []);
  assert.equal(new Set(KNOWN_ARGUMENTS).size, KNOWN_ARGUMENTS.length);
});

const CASES: readonly (readonly [words: string, context: object, expected: string])[] = [
  ["--configmap=$(POD_NAMESPACE)/conf", {}, "OPENS configmap"],
  ["--configmap $(POD_NAMESPACE)/conf", { hasConfigMap: true }, ""],
  ["--ingress-class=nginx --controller-class=k8s.io/ingress-nginx", {}, ""],
  ["--ingress-class=internal", {}, "OPENS ingress-class"],
  ["--ingress-class=internal", { nginxClasses: ["internal"] }, ""],
  ["--controller-class k8s.io/internal", {}, "OPENS controller-class"],
  ["--watch-namespace=web", {}, "OPENS watch-namespace"],
  ["--watch-namespace=$(POD_NAMESPACE)", { watchNamespaces: ["edge"] }, ""],
  ["--watch-namespace=", {}, ""],
  ["--watch-namespace-selector=team=a", {}, "OPENS watch-namespace-selector"],
  ["--disable-catch-all", {}, ""],
  ["--disable-catch-all", { hasCatchAll: true }, "OPENS disable-catch-all"],
  ["--disable-catch-all=false", { hasCatchAll: true }, ""],
  ["--watch-ingress-without-class=true", {}, "BREAKS watch-ingress-without-class"],
  ["--tcp-services-configmap=a/tcp", {}, "BREAKS tcp-services-configmap"],
  ["--default-backend-service=a/b", {}, "DIFFERS default-backend-service"],
  ["--default-ssl-certificate=a/b", {}, "DIFFERS default-ssl-certificate"],
  ["-v=3 --election-id=x --http-port 8080", {}, ""],
  ["--new-thing=s3cr3t", {}, "DIFFERS new-thing"],
  ["/nginx-ingress-controller", {}, ""],
];

for (const [words, context, expected] of CASES) {
  Deno.test(`arguments ${words}, given ${JSON.stringify(context)}: ${expected || "same"}`, () => {
    const found = argumentFindings(words.split(" "), { ...CONTEXT, ...context });
    assert.equal(found.map(({ verdict, name }) => `${verdict} ${name}`).join(), expected);
    assert.doesNotMatch(JSON.stringify(found), /s3cr3t|POD_NAMESPACE/);
  });
}

Deno.test("the last of equal arguments counts, with = or a word of its own", () => {
  assert.deepEqual([...argumentsOf(["--a=1", "--a", "2", "--b", "--c=x=y", "-d"])], [
    ["a", "2"],
    ["b", "true"],
    ["c", "x=y"],
    ["d", "true"],
  ]);
});
