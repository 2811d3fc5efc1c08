import { deepEqual, equal, match, notDeepEqual, ok } from "node:assert/strict";
import { parseProxyOptions } from "../../../proxy/cli/options.ts";
import { asList, fieldOf } from "../../base/json.ts";
import { workloadObjects, type WorkloadOptions, type WorkloadPlan } from "./objects.ts";
import type { WorkloadKind } from "./options.ts";

const HOST_PORT: WorkloadOptions = {
  backend: "HostPort",
  namespace: "pingress-system",
  image: "proxy:1",
  imagePullSecrets: [],
  nodeSelector: {},
  replicas: 2,
  autoscale: null,
  serviceType: "LoadBalancer",
  priorityClass: null,
  drainDelay: 15_000,
  drainTimeout: 300_000,
  stream: true,
  proxyArgs: [],
  podTemplate: null,
};
const LOAD_BALANCER: WorkloadOptions = { ...HOST_PORT, backend: "LoadBalancer" };
const AUTOSCALED = { ...LOAD_BALANCER, autoscale: { min: 3, max: 9, cpuPercent: 70 } };

/** A value deep in JSON: names and places. */
function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce(
    (inner, step) => typeof step === "number" ? asList(inner)?.[step] : fieldOf(inner, step),
    value,
  );
}

function kinds({ apply }: WorkloadPlan): WorkloadKind[] {
  return apply.map(({ kind }) => kind);
}

function object(plan: WorkloadPlan, kind: WorkloadKind) {
  return plan.apply.find((one) => one.kind === kind) ?? null;
}

function podOf(options: WorkloadOptions): unknown {
  const plan = workloadObjects(options);
  deepEqual(plan.problems, []);
  const kind = options.backend === "HostPort" ? "DaemonSet" : "Deployment";
  return at(object(plan, kind), "spec", "template");
}

function argsOf(options: WorkloadOptions): unknown {
  return at(podOf(options), "spec", "containers", 0, "args");
}

Deno.test("HostPort is a DaemonSet on ports 80 and 443 of its nodes", () => {
  const plan = workloadObjects(HOST_PORT);
  deepEqual(kinds(plan), ["DaemonSet"]);
  deepEqual(at(podOf(HOST_PORT), "spec", "containers", 0, "ports"), [
    { name: "http", containerPort: 8080, protocol: "TCP", hostPort: 80 },
    { name: "https", containerPort: 8443, protocol: "TCP", hostPort: 443 },
    { name: "admin", containerPort: 9090, protocol: "TCP" },
  ]);
});

Deno.test("HostPort keeps the selector of the Rust controller, which cannot change", () => {
  const [daemonSet] = workloadObjects(HOST_PORT).apply;
  equal(daemonSet.metadata.name, "pingress-proxy-server");
  deepEqual(at(daemonSet.spec, "selector"), {
    matchLabels: { "app.kubernetes.io/name": "pingress-proxy-server" },
  });
  equal(at(podOf(HOST_PORT), "spec", "containers", 0, "name"), "pingress-proxy-server");
});

Deno.test("LoadBalancer is a Service, a Deployment and a disruption budget", () => {
  const plan = workloadObjects(LOAD_BALANCER);
  deepEqual(kinds(plan), ["Service", "Deployment", "PodDisruptionBudget"]);
  equal(at(object(plan, "Deployment"), "spec", "replicas"), 2);
  for (const port of asList(at(podOf(LOAD_BALANCER), "spec", "containers", 0, "ports"))!) {
    equal(fieldOf(port, "hostPort"), undefined);
  }
});

Deno.test("with an autoscaler the number of replicas is not set", () => {
  const plan = workloadObjects(AUTOSCALED);
  const autoscaler = object(plan, "HorizontalPodAutoscaler");
  equal(at(object(plan, "Deployment"), "spec", "replicas"), undefined);
  deepEqual([at(autoscaler, "spec", "minReplicas"), at(autoscaler, "spec", "maxReplicas")], [3, 9]);
});

Deno.test("selectors of the Deployment and its companion objects match its pods", () => {
  const plan = workloadObjects(AUTOSCALED);
  const labels = at(podOf(AUTOSCALED), "metadata", "labels") as Record<string, string>;
  const selectors = [
    at(object(plan, "Deployment"), "spec", "selector", "matchLabels"),
    at(object(plan, "PodDisruptionBudget"), "spec", "selector", "matchLabels"),
    at(object(plan, "Service"), "spec", "selector"),
    at(podOf(AUTOSCALED), "spec", "topologySpreadConstraints", 0, "labelSelector", "matchLabels"),
  ];
  for (const selector of selectors) {
    for (const [name, value] of Object.entries(selector as object)) equal(labels[name], value);
  }
});

Deno.test("a DaemonSet's rollout replaces one node at a time, a Deployment's keeps all replicas available", () => {
  deepEqual(at(workloadObjects(HOST_PORT).apply[0].spec, "updateStrategy", "rollingUpdate"), {
    maxUnavailable: 1,
    maxSurge: 0,
  });
  const deployment = object(workloadObjects(LOAD_BALANCER), "Deployment");
  deepEqual(at(deployment, "spec", "strategy", "rollingUpdate"), {
    maxUnavailable: 0,
    maxSurge: "25%",
  });
});

for (const type of ["LoadBalancer", "NodePort", "ClusterIP"] as const) {
  Deno.test(`a Service of type ${type} preserves the client's address if it can`, () => {
    const plan = workloadObjects({ ...LOAD_BALANCER, serviceType: type });
    const spec = object(plan, "Service")?.spec;
    equal(at(spec, "type"), type);
    equal(at(spec, "externalTrafficPolicy"), type === "ClusterIP" ? undefined : "Local");
    equal(at(spec, "ipFamilyPolicy"), "PreferDualStack");
    deepEqual([at(spec, "ports", 0, "port"), at(spec, "ports", 1, "port")], [80, 443]);
    deepEqual([at(spec, "ports", 0, "targetPort"), at(spec, "ports", 1, "targetPort")], [
      "http",
      "https",
    ]);
  });
}

Deno.test("annotations and class of the load balancer are set on the Service", () => {
  const plan = workloadObjects({
    ...LOAD_BALANCER,
    serviceAnnotations: { "example.com/scheme": "internal" },
    loadBalancerClass: "example.com/fast",
  });
  const service = object(plan, "Service");
  deepEqual(service?.metadata.annotations, { "example.com/scheme": "internal" });
  equal(at(service?.spec, "loadBalancerClass"), "example.com/fast");
});

Deno.test("the pod's termination grace period is longer than its drain", () => {
  for (const [drainDelay, drainTimeout, seconds] of [[15_000, 300_000, 330], [0, 1, 16]] as const) {
    const pod = podOf({ ...HOST_PORT, drainDelay, drainTimeout });
    equal(at(pod, "spec", "terminationGracePeriodSeconds"), seconds);
  }
});

Deno.test("a draining pod counts as ready while it accepts connections", () => {
  for (const drainDelay of [0, 4_000, 15_000, 61_000]) {
    const pod = podOf({ ...LOAD_BALANCER, drainDelay });
    const probe = at(pod, "spec", "containers", 0, "readinessProbe");
    const period = Number(at(probe, "periodSeconds"));
    const failures = Number(at(probe, "failureThreshold"));
    // The first probe after SIGTERM may come at once.
    ok((failures - 1) * period * 1000 >= drainDelay, `${failures} × ${period} s for ${drainDelay}`);
  }
});

Deno.test("the proxy's flags name its files, its listeners and its drain time", () => {
  deepEqual(argsOf(HOST_PORT), [
    "--config=/etc/pingress/proxy.json",
    "--watch=/etc/pingress",
    "--listen-http=[::]:8080",
    "--listen-https=[::]:8443",
    "--ssl-redirect-port=443",
    "--admin=[::]:9090",
    "--drain-delay=15s",
    "--drain-timeout=5m",
    "--workers=4",
    "--memory-limit=$(PROXY_MEMORY_LIMIT)",
    "--controller=https://pingress-controller.pingress-system.svc:9443",
    "--controller-ca=/etc/pingress/stream/ca.crt",
    "--controller-token=/etc/pingress/stream/token",
  ]);
  equal(at(podOf(HOST_PORT), "spec", "containers", 0, "command"), undefined);
});

Deno.test("the proxy of this version accepts its command line", () => {
  for (const options of [HOST_PORT, { ...AUTOSCALED, drainDelay: 0, drainTimeout: 1500 }]) {
    // As the kubelet fills it in.
    const args = (argsOf(options) as string[]).map((arg) =>
      arg.replace("$(PROXY_MEMORY_LIMIT)", "1073741824")
    );
    const parsed = parseProxyOptions(args);
    ok(parsed.kind === "ok", parsed.kind === "ok" ? "" : parsed.text);
    deepEqual([parsed.options.drainDelay, parsed.options.drainTimeout], [
      options.drainDelay,
      options.drainTimeout,
    ]);
    equal(parsed.options.limits.memoryBytes, 2 ** 30);
  }
});

Deno.test("on a kernel without IPv6 all three ports can listen on IPv4", () => {
  const proxyArgs = ["http=0.0.0.0:8080", "https=0.0.0.0:8443"].map((to) => `--listen-${to}`);
  const args = argsOf({ ...HOST_PORT, proxyArgs: [...proxyArgs, "--admin=0.0.0.0:9090"] });
  equal((args as string[]).join(" ").includes("[::]"), false);
});

Deno.test("added flags replace the default ones", () => {
  const args = argsOf({
    ...HOST_PORT,
    proxyArgs: [
      "--workers=8",
      "--listen-http=0.0.0.0:8080",
      "--watch=/more",
      "--log-level",
      "warn",
    ],
  }) as string[];
  equal(args.filter((arg) => arg.startsWith("--workers")).join(), "--workers=8");
  equal(
    args.filter((arg) => arg.startsWith("--listen-http=")).join(),
    "--listen-http=0.0.0.0:8080",
  );
  equal(args.filter((arg) => arg.startsWith("--watch")).length, 2);
  deepEqual(args.slice(-2), ["--log-level", "warn"]);
});

for (
  const proxyArg of ["--config=/x", "--admin", "--drain-delay=1s", "--help", "-h", "workers=8"]
) {
  Deno.test(`the added flag ${proxyArg} is rejected, and nothing changes`, () => {
    const plan = workloadObjects({ ...HOST_PORT, proxyArgs: [proxyArg] });
    deepEqual([plan.apply, plan.remove], [[], []]);
    deepEqual(plan.problems.map(({ reason, severity }) => [reason, severity]), [
      ["InvalidProxyArgument", "error"],
    ]);
  });
}

Deno.test("a proxy flag with a port of --listen-range is rejected with the range", () => {
  const listenRange = { from: 10_000, to: 10_255 };
  for (const proxyArgs of [["--listen-http=[::]:10080"], ["--listen-https", "0.0.0.0:10255"]]) {
    const plan = workloadObjects({ ...HOST_PORT, listenRange, proxyArgs });
    deepEqual(plan.apply, []);
    const [{ reason, message, remedy }] = plan.problems;
    equal(reason, "InvalidProxyArgument");
    match(message, /port 10(080|255), which is in --listen-range 10000-10255/);
    match(remedy, /--gateway=false/);
    deepEqual(workloadObjects({ ...HOST_PORT, listenRange: null, proxyArgs }).problems, []);
  }
  const proxyArgs = ["--listen-http=[::]:10256"];
  deepEqual(workloadObjects({ ...HOST_PORT, listenRange, proxyArgs }).problems, []);
});

Deno.test("pods mount all objects that may ever be published in one folder, all optional", () => {
  for (const options of [HOST_PORT, LOAD_BALANCER]) {
    const pod = podOf(options);
    deepEqual(at(pod, "spec", "containers", 0, "volumeMounts"), [
      { name: "config", mountPath: "/etc/pingress", readOnly: true },
    ]);
    const volumes = asList(at(pod, "spec", "volumes"))!;
    equal(volumes.length, 1);
    const sources = asList(at(volumes, 0, "projected", "sources"))!;
    const configMaps = sources.flatMap((source) => fieldOf(source, "configMap") ?? [])
      .filter((one) => at(one, "name") !== "pingress-stream-ca");
    const secrets = sources.flatMap((source) => fieldOf(source, "secret") ?? []);
    deepEqual(
      configMaps.map((one) => [at(one, "name"), at(one, "items", 0, "path")]),
      ["", "-v2"].flatMap((format) =>
        ["", ...[1, 2, 3, 4, 5, 6, 7].map((number) => `-${number}`)].map((suffix) => [
          `pingress-config${format}${suffix}`,
          `proxy${format}${suffix}.json`,
        ])
      ),
    );
    deepEqual(secrets.map((one) => at(one, "name")), [
      "pingress-keys",
      ...Array.from({ length: 15 }, (_, index) => `pingress-keys-${index + 1}`),
    ]);
    for (const source of [...configMaps, ...secrets]) equal(at(source, "optional"), true);
  }
});

Deno.test("pods mount the controller's CA and a token for its stream only", () => {
  for (const options of [HOST_PORT, LOAD_BALANCER]) {
    const spec = at(podOf(options), "spec");
    equal(at(spec, "serviceAccountName"), "pingress-proxy-server");
    deepEqual(asList(at(spec, "volumes", 0, "projected", "sources"))!.slice(-2), [
      {
        configMap: {
          name: "pingress-stream-ca",
          optional: true,
          items: [{ key: "ca.crt", path: "stream/ca.crt" }],
        },
      },
      {
        serviceAccountToken: {
          audience: "pingress-stream",
          expirationSeconds: 3600,
          path: "stream/token",
        },
      },
    ]);
  }
});

Deno.test("without the stream pods have no flag for it, no token and no account", () => {
  const spec = at(podOf({ ...HOST_PORT, stream: false }), "spec");
  equal(at(spec, "serviceAccountName"), undefined);
  equal(JSON.stringify(spec).includes("stream"), false);
  equal(JSON.stringify(spec).includes("--controller"), false);
});

Deno.test("a controller named by the operator replaces ours", () => {
  const proxyArgs = ["--controller=https://192.0.2.1:9443", "--controller-ca=/etc/mine/ca.crt"];
  const args = argsOf({ ...HOST_PORT, proxyArgs }) as string[];
  deepEqual(args.filter((arg) => arg.startsWith("--controller")), [
    "--controller-token=/etc/pingress/stream/token",
    ...proxyArgs,
  ]);
});

Deno.test("pods meet the restricted pod security standard, and have no API token", () => {
  for (const options of [HOST_PORT, LOAD_BALANCER]) {
    const spec = at(podOf(options), "spec");
    equal(at(spec, "automountServiceAccountToken"), false);
    equal(at(spec, "enableServiceLinks"), false);
    equal(at(spec, "hostNetwork"), undefined);
    deepEqual(at(spec, "securityContext"), {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      fsGroup: 65532,
      seccompProfile: { type: "RuntimeDefault" },
    });
    deepEqual(at(spec, "containers", 0, "securityContext"), {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  }
});

Deno.test("image, pull secrets, node selector and priority class are set on the pods", () => {
  const pod = podOf({
    ...HOST_PORT,
    imagePullSecrets: ["registry"],
    nodeSelector: { pool: "edge" },
    priorityClass: "system-cluster-critical",
  });
  equal(at(pod, "spec", "containers", 0, "image"), "proxy:1");
  deepEqual(at(pod, "spec", "imagePullSecrets"), [{ name: "registry" }]);
  deepEqual(at(pod, "spec", "nodeSelector"), { "kubernetes.io/os": "linux", pool: "edge" });
  equal(at(pod, "spec", "priorityClassName"), "system-cluster-critical");
});

Deno.test("fields of a pod template override the defaults", () => {
  const pod = podOf({
    ...LOAD_BALANCER,
    podTemplate: {
      metadata: { annotations: { "example.com/scrape": "true" } },
      spec: {
        containers: [{
          name: "pingress-proxy-server",
          resources: { limits: { memory: "4Gi" } },
        }],
        topologySpreadConstraints: [{
          topologyKey: "topology.kubernetes.io/zone",
          whenUnsatisfiable: "DoNotSchedule",
        }],
      },
    },
  });
  deepEqual(at(pod, "metadata", "annotations"), { "example.com/scrape": "true" });
  deepEqual(at(pod, "spec", "containers", 0, "resources"), {
    requests: { cpu: "250m", memory: "256Mi" },
    limits: { memory: "4Gi" },
  });
  const spread = asList(at(pod, "spec", "topologySpreadConstraints"))!;
  equal(at(spread, 1, "whenUnsatisfiable"), "DoNotSchedule");
  equal(at(spread, 1, "maxSkew"), 1);
});

const BROKEN_TEMPLATES: Readonly<Record<string, readonly [unknown, field: string, RegExp]>> = {
  "text": ["spec:", "spec.template", /text, not a map/],
  "a list": [[], "spec.template", /a list, not a map/],
  "a whole Deployment": [
    { apiVersion: "apps/v1", kind: "Deployment", spec: {} },
    "spec.template.kind",
    /whole object of kind "Deployment"/,
  ],
  "a field that pods do not have": [
    { containers: [] },
    "spec.template.containers",
    /no such field/,
  ],
  "a spec that is a list": [{ spec: [] }, "spec.template.spec", /a list instead of a map/],
  "another value of the selector's label": [
    { metadata: { labels: { "app.kubernetes.io/name": "mine" } } },
    'spec.template.metadata.labels["app.kubernetes.io/name"]',
    /must stay pingress-proxy-server/,
  ],
  "labels that lose the selector's": [
    { metadata: { labels: null } },
    'spec.template.metadata.labels["app.kubernetes.io/name"]',
    /must stay pingress-proxy-server/,
  ],
  "no proxy": [
    { spec: { containers: [{ name: "pingress-proxy-server", $patch: "delete" }] } },
    "spec.template.spec.containers",
    /container pingress-proxy-server is missing/,
  ],
};

for (const [name, [podTemplate, field, message]] of Object.entries(BROKEN_TEMPLATES)) {
  Deno.test(`a pod template with ${name} is rejected, and nothing changes`, () => {
    const plan = workloadObjects({ ...HOST_PORT, podTemplate });
    deepEqual([plan.apply, plan.remove], [[], []]);
    equal(plan.problems.length, 1);
    const [problem] = plan.problems;
    deepEqual([problem.field, problem.reason], [field, "InvalidPodTemplate"]);
    match(problem.message, /^--proxy-pod-template/);
    match(problem.message, message);
    notDeepEqual(problem.remedy, "");
  });
}

Deno.test("a change of backend removes the other backend's objects, but keeps the Service", () => {
  const removed = (options: WorkloadOptions) =>
    workloadObjects(options).remove.map(({ kind }) => kind);
  deepEqual(removed(HOST_PORT), ["HorizontalPodAutoscaler", "PodDisruptionBudget", "Deployment"]);
  deepEqual(removed({ ...HOST_PORT, cleanupService: true }).at(-1), "Service");
  deepEqual(removed(LOAD_BALANCER), ["HorizontalPodAutoscaler", "DaemonSet"]);
  deepEqual(removed(AUTOSCALED), ["DaemonSet"]);
});

Deno.test("every object has the labels by which the controller finds its own", () => {
  for (const options of [HOST_PORT, AUTOSCALED]) {
    for (const { metadata } of workloadObjects(options).apply) {
      equal(metadata.labels?.["app.kubernetes.io/managed-by"], "pingress-controller");
      equal(metadata.labels?.["app.kubernetes.io/part-of"], "pingress");
      equal(metadata.namespace, "pingress-system");
    }
  }
});

Deno.test("the same options give the same objects, byte for byte", () => {
  equal(JSON.stringify(workloadObjects(AUTOSCALED)), JSON.stringify(workloadObjects(AUTOSCALED)));
});
