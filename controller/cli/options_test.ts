import assert from "node:assert/strict";
import { parseDefaultBackend } from "./option_values.ts";
import { parseControllerOptions, readEnvironment } from "./options.ts";

function optionsOf(...args: string[]) {
  const parsed = parseControllerOptions(args);
  assert.equal(parsed.kind, "ok", parsed.kind === "ok" ? "" : parsed.text);
  return parsed.options;
}

function errorOf(...args: string[]): string {
  const parsed = parseControllerOptions(args);
  assert.equal(parsed.kind, "error");
  return parsed.kind === "error" ? parsed.text : "";
}

Deno.test("the command line of the Rust controller is accepted unchanged", () => {
  const options = optionsOf(
    "--backend=HostPort",
    "--image-pull-secret",
    "registry",
    "--proxy-server-image",
    "registry.example.com/proxy:1",
    "--namespace",
    "edge",
    "--node-selector",
    "example.com/node-type=external-network,tier=edge",
  );
  assert.equal(options.backend, "HostPort");
  assert.deepEqual(options.imagePullSecrets, ["registry"]);
  assert.equal(options.proxyServerImage, "registry.example.com/proxy:1");
  assert.equal(options.namespace, "edge");
  assert.deepEqual(options.nodeSelector, {
    "example.com/node-type": "external-network",
    tier: "edge",
  });
});

Deno.test("one flag is enough to serve class pingress in all namespaces", () => {
  const options = optionsOf("--backend", "LoadBalancer");
  assert.equal(options.watchNamespaces, null);
  assert.deepEqual(options.ingressClasses, ["pingress"]);
  assert.ok(options.controllerNames.includes("pingress.io/ingress-controller"));
  assert.ok(options.controllerNames.includes("networking.kinorca.com/pingress-controller"));
  assert.equal(options.namespace, "pingress-system");
  assert.equal(options.cleanupDelay, 600_000);
  assert.match(options.proxyServerImage, /:\d/);
});

Deno.test("Gateways share the nodes' addresses by default, unless flags describe their Services", () => {
  const addressWith = (...args: string[]) => optionsOf(...args).gateway?.address;
  assert.equal(addressWith("--backend=HostPort"), "shared");
  assert.equal(addressWith("--backend=LoadBalancer"), "own");
  for (
    const flag of [
      ...["--service-type=NodePort", "--load-balancer-class=example.com/internal"],
      "--service-annotation=example.com/a=b",
    ]
  ) {
    assert.equal(addressWith("--backend=HostPort", flag), "own", flag);
  }
});

Deno.test("Gateway API is served unless --gateway=false turns it off", () => {
  const { gateway } = optionsOf("--backend=HostPort");
  assert.deepEqual(gateway?.listenRange, { from: 10_000, to: 10_255 });
  assert.deepEqual(optionsOf("--backend=HostPort", "--gateway").gateway, gateway);
  assert.equal(optionsOf("--backend=HostPort", "--gateway=false").gateway, null);
});

Deno.test("--cleanup-delay never keeps the proxies", () => {
  assert.equal(optionsOf("--backend=HostPort", "--cleanup-delay=never").cleanupDelay, Infinity);
});

Deno.test("duplicate namespaces are watched once", () => {
  const options = optionsOf(
    "--backend=HostPort",
    "--watch-namespace=a",
    "--watch-namespace=b",
    "--watch-namespace=a",
  );
  assert.deepEqual(options.watchNamespaces, ["a", "b"]);
});

const WRONG: readonly [string, readonly string[], RegExp][] = [
  ["no backend", [], /--backend is needed/],
  ["another backend", ["--backend=NodePort"], /--backend got "NodePort".*HostPort, LoadBalancer/],
  ["a lease shorter than its renewal", ["--lease-duration=5s"], /--lease-duration must be longer/],
  ["a renewal shorter than a retry", ["--renew-deadline=2s"], /--renew-deadline must be longer/],
  ["labels without a value", ["--node-selector=edge"], /--node-selector: "edge" is not labels/],
  ["a label with a bad key", ["--node-selector=a b=c"], /--node-selector/],
  ["an address that is none", ["--publish-address=http://x"], /--publish-address/],
  ["a namespace with capitals", ["--namespace=Edge"], /--namespace: "Edge" is not/],
  [
    "fewer proxies at most than at least",
    ["--proxy-replicas=4", "--proxy-max-replicas=3"],
    /--proxy-max-replicas/,
  ],
  [
    "a default certificate without a namespace",
    ["--default-ssl-certificate=tls"],
    /default\/wildcard-tls/,
  ],
  [
    "a default certificate that may not be read",
    ["--default-ssl-certificate=ops/tls", "--watch-namespace=shop"],
    /--default-ssl-certificate .* add --watch-namespace ops/,
  ],
  [
    "a range of more ports than a proxy accepts",
    ["--gateway", "--listen-range=10000-10512"],
    /--listen-range.* up to 512 ports/,
  ],
  [
    "a range with a port that proxies already listen on",
    ["--gateway", "--listen-range=8400-8500"],
    /--listen-range.* without 8080, 8443, 9090/,
  ],
  ["a proxy argument that is not a flag", ["--proxy-arg=workers"], /a flag of the proxy/],
];

for (const [name, args, expected] of WRONG) {
  Deno.test(`${name}: the error names the flag and its allowed values`, () => {
    const backend = args.some((arg) => arg.startsWith("--backend")) || args.length === 0
      ? []
      : ["--backend=HostPort"];
    assert.match(errorOf(...backend, ...args), expected);
  });
}

Deno.test("a default backend is a Service with one of its ports", () => {
  assert.deepEqual(parseDefaultBackend("default/web:80"), {
    namespace: "default",
    name: "web",
    port: 80,
  });
  assert.deepEqual(parseDefaultBackend("default/web:http")?.port, "http");
  for (const text of ["web:80", "default/web", "default/web:0", "default/web:70000", "a/b/c:1"]) {
    assert.equal(parseDefaultBackend(text), null, text);
  }
});

Deno.test("only three environment variables are read", () => {
  const asked: string[] = [];
  const environment = readEnvironment({
    get(name) {
      asked.push(name);
      return name === "POD_NAME" ? "pingress-controller-0" : undefined;
    },
  });
  assert.deepEqual(environment, { apiServer: null, podName: "pingress-controller-0" });
  assert.deepEqual(asked.sort(), [
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "POD_NAME",
  ]);
});

Deno.test("--nginx-class is served beside --ingress-class, and does not share hosts by itself", () => {
  for (
    const [args, classes, nginx, ownership] of [
      [["--nginx-class=legacy"], ["pingress", "legacy"], ["legacy"], "namespace"],
      [["--nginx-class=nginx", "--ingress-class=nginx"], ["nginx"], ["nginx"], "namespace"],
      [
        ["--nginx-class=nginx", "--ingress-class=nginx", "--controller-name=k8s.io/ingress-nginx"],
        ["nginx"],
        ["nginx"],
        "shared",
      ],
      [
        ["--nginx-class=other", "--ingress-class=nginx", "--controller-name=k8s.io/ingress-nginx"],
        ["nginx", "other"],
        ["other"],
        "namespace",
      ],
    ] as const
  ) {
    const parsed = parseControllerOptions(["--backend=HostPort", ...args]);
    if (parsed.kind !== "ok") throw new Error(parsed.text);
    const { ingressClasses, nginxClasses, hostOwnership } = parsed.options;
    assert.deepEqual([ingressClasses, nginxClasses, hostOwnership], [classes, nginx, ownership]);
  }
});
