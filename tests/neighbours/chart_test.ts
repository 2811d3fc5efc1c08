/** What the real Helm makes of the chart, beside what Kustomize makes of the manifests. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { CONTROLLER_OPTIONS, parseControllerOptions } from "../../controller/cli/options.ts";
import { readWorkload } from "../../controller/outputs/workload/from_options.ts";
import { proxyArgs } from "../../controller/outputs/workload/proxy_args.ts";
import { parseProxyOptions, PROXY_OPTIONS } from "../../proxy/cli/options.ts";
import { flagName, type OptionSpecs } from "../../shared/options.ts";
import { ALERTS } from "../../tools/alerts/groups.ts";
import { CHART } from "../../tools/chart/chart_files.ts";
import { flagSamples } from "../../tools/chart/flag_samples.ts";
import { CONTROLLER_FLAGS, PROXY_FLAGS } from "../../tools/chart/flag_values.ts";
import { isGroup, valuesOf } from "../../tools/chart/value.ts";
import { VALUES } from "../../tools/chart/values.ts";
import type { KubeObject } from "../cluster/support/api_client.ts";
import { kubectl } from "../cluster/support/kubectl.ts";
import { findPrograms } from "../cluster/support/programs.ts";
import { Helm, keyOf, NAMESPACE, objectsOf, RELEASE, ROOT } from "./helm.ts";

/** Of objects that Helm manages. */
const HELM_LABELS = [
  "helm.sh/chart",
  "app.kubernetes.io/instance",
  "app.kubernetes.io/managed-by",
  "app.kubernetes.io/version",
];

function helmTest(name: string, run: (helm: Helm) => Promise<void>): void {
  Deno.test(name, async () => {
    const helm = await Helm.find(name);
    if (helm === null) return;
    await using _ = helm;
    await run(helm);
  });
}

/** What Kustomize makes of folders together; null where there is no kubectl. */
async function kustomize(folders: readonly string[]): Promise<KubeObject[] | null> {
  const found = await findPrograms();
  if (!found.ok || found.programs.kubectl === null) {
    console.log(`skipped: ${found.ok ? "kubectl is not among the programs" : found.error}`);
    return null;
  }
  const target = { kubeconfig: "/dev/null", programs: found.programs };
  const built: KubeObject[] = [];
  for (const folder of folders) {
    const answer = await kubectl(target, ["kustomize", join(ROOT, folder)]);
    assert.deepEqual([answer?.code, answer?.stderr], [0, ""], folder);
    // It folds the lines of expressions anew, which read back with blank lines between.
    const text = JSON.stringify(objectsOf(answer!.stdout)).replace(/(?:\\n)+/g, "\\n");
    built.push(...JSON.parse(text));
  }
  return built;
}

/** Of objects that outlive the release. */
const HELM_ANNOTATION = "helm.sh/resource-policy";

/** By their names, without what is Helm's own; the namespace is the user's. */
function comparable(objects: readonly KubeObject[]): Record<string, KubeObject> {
  return Object.fromEntries(
    objects.filter(({ kind }) => kind !== "Namespace").map((object) => {
      const { labels, annotations, ...metadata } = object.metadata;
      return [keyOf(object), {
        ...object,
        metadata: {
          ...metadata,
          labels: without(labels, HELM_LABELS),
          annotations: without(annotations, [HELM_ANNOTATION]),
        },
      }];
    }),
  );
}

function without(map: Readonly<Record<string, string>> = {}, keys: readonly string[]) {
  return Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)));
}

for (
  const [what, folders, values] of [
    ["the values as they are", ["manifests"], {}],
    ["the backend LoadBalancer", ["overlays/loadbalancer"], {
      controller: { flags: { backend: "LoadBalancer" } },
    }],
    ["Gateway API", ["manifests", "overlays/gateway"], { gateway: { create: true } }],
    ["admission policies", ["manifests", "overlays/admission"], { admission: { create: true } }],
    ["a class for ingress-nginx", ["manifests", "overlays/nginx"], {
      nginxClass: { create: true },
    }],
    ["monitors and alerts", ["manifests", "overlays/monitoring"], {
      podMonitor: { create: true },
      prometheusRule: { create: true },
    }],
  ] as const
) {
  helmTest(`with ${what}, the chart has the objects of ${folders.join(" and ")}`, async (helm) => {
    const built = await kustomize(folders);
    if (built === null) return;
    const objects = await helm.template({ values });
    for (const object of objects) {
      for (const label of HELM_LABELS) {
        assert.ok(object.metadata.labels?.[label], `${keyOf(object)} ${label}`);
      }
    }
    assert.deepEqual(comparable(objects), comparable(built));
    assert.equal(objects.length, new Set(objects.map(keyOf)).size);
  });
}

helmTest(
  "the right to watch the ConfigMap of ingress-nginx is that of its overlay",
  async (helm) => {
    const built = await kustomize(["manifests", "overlays/configmap"]);
    if (built === null) return;
    const flags = { configmap: "ingress-nginx/ingress-nginx-controller" };
    const objects = await helm.template({ values: { controller: { flags } } });
    const roles = (all: readonly KubeObject[]) =>
      comparable(all.filter(({ kind }) => /^Role/.test(kind)));
    assert.deepEqual(roles(objects), roles(built));
  },
);

helmTest(
  "with rbac.scope namespaces, the rights are those of manifests/namespaced",
  async (helm) => {
    const objects = await helm.template({
      values: {
        rbac: { scope: "namespaces" },
        controller: { flags: { watchNamespace: ["default"] } },
      },
    });
    const text = await Deno.readTextFile(join(ROOT, "manifests/namespaced/rights.yaml"));
    const isRight = ({ kind }: KubeObject) => /Role|ServiceAccount/.test(kind);
    // In the namespace of the release there is a Role of the first name.
    const served = objects.filter(isRight).map((object) =>
      object.metadata.namespace === "default"
        ? JSON.parse(JSON.stringify(object).replaceAll("controller-served", "controller-role"))
        : object
    );
    assert.deepEqual(comparable(served), comparable(objectsOf(text)));
    const { code, stderr } = await helm.tryTemplate({ values: { rbac: { scope: "namespaces" } } });
    assert.equal(code, 1);
    assert.match(stderr, /rbac\.scope namespaces needs controller\.flags\.watchNamespace/);
  },
);

/** Arguments of the controller's container. */
function argumentsOf(objects: readonly KubeObject[]): string[] {
  const deployment = objects.find(({ kind }) => kind === "Deployment") as unknown as {
    spec: { template: { spec: { containers: { image: string; args: string[] }[] } } };
  };
  return deployment.spec.template.spec.containers[0].args;
}

/** As --set writes it: commas, braces and the like have a meaning there. */
function setText(value: unknown): string {
  const text = (one: unknown) => String(one).replace(/[\\,{}=]/g, "\\$&");
  return Array.isArray(value) ? `{${value.map(text).join(",")}}` : text(value);
}

for (
  const [name, specs, values, prefix] of [
    ["controller", CONTROLLER_OPTIONS, CONTROLLER_FLAGS, ""],
    ["proxy", PROXY_OPTIONS, PROXY_FLAGS, "--proxy-arg="],
  ] as const
) {
  helmTest(`--set of every flag of the ${name} lands in its argument`, async (helm) => {
    const given = Object.keys(values).map((key) => {
      const spec = (specs as OptionSpecs)[key];
      const [value] = flagSamples(key, spec).good.slice(spec.type === "boolean" ? 1 : 0)
        .filter((value) => !Array.isArray(value) || value.length > 0);
      return [key, value] as const;
    });
    const args = given.flatMap(([key, value]) => [
      ...[typeof value === "string" || Array.isArray(value) ? "--set-string" : "--set"],
      `${name}.flags.${key}=${setText(value)}`,
    ]);
    const found = argumentsOf(await helm.template({ args }));
    for (const [key, value] of given) {
      const wanted = [value].flat().map((one) => `${prefix}--${flagName(key)}=${one}`);
      const flag = `${prefix}--${flagName(key)}=`;
      assert.deepEqual(found.filter((arg) => arg.startsWith(flag)), wanted);
    }
    if (name === "proxy") {
      const flags = found.filter((arg) => arg.startsWith(prefix)).map((arg) =>
        arg.slice(prefix.length)
      );
      const parsed = parseProxyOptions(["--config=/etc/pingress/proxy.json", ...flags]);
      assert.equal(parsed.kind, "ok", parsed.kind === "ok" ? "" : parsed.text);
    }
  });
}

for (const write of ["--set", "--set-string"]) {
  helmTest(`a ratio by ${write} lands in its argument`, async (helm) => {
    const ratios = Object.keys(PROXY_FLAGS).filter((key) =>
      (PROXY_OPTIONS as OptionSpecs)[key].type === "ratio"
    );
    assert.ok(ratios.length > 1);
    for (const value of ["0", "0.05", "0.000000001", "1"]) {
      const args = ratios.flatMap((key) => [write, `proxy.flags.${key}=${value}`]);
      const found = argumentsOf(await helm.template({ args }));
      for (const key of ratios) {
        const wanted = `--proxy-arg=--${flagName(key)}=${value}`;
        assert.ok(found.includes(wanted), `${wanted} is not in ${found.join(" ")}`);
      }
    }
  });
}

helmTest("a ratio of a values file is an argument without an exponent", async (helm) => {
  for (const [value, text] of [[0.05, "0.05"], [1e-5, "0.00001"], [1e-12, "0"]] as const) {
    const objects = await helm.template({ values: { proxy: { flags: { traceRatio: value } } } });
    assert.ok(argumentsOf(objects).includes(`--proxy-arg=--trace-ratio=${text}`), text);
  }
});

helmTest(
  "large numbers and lists of a values file are arguments that the controller reads",
  async (helm) => {
    const objects = await helm.template({
      values: {
        image: { pullSecrets: ["one", "two"] },
        controller: {
          flags: {
            maxNamespaceRoutes: 1_000_000,
            maxObjectBytes: 1_048_576,
            gatherTime: 0,
            gateway: false,
            serviceAnnotation: ["a.test/x=1, 2", 'a.test/json={"k": "v"}'],
            publishAddress: ["192.0.2.1", "2001:db8::1"],
          },
        },
        proxy: {
          flags: { workers: 8, connectionLimit: 1_000_000, trustedProxies: ["10.0.0.0/8"] },
        },
      },
    });
    const parsed = parseControllerOptions(argumentsOf(objects));
    if (parsed.kind !== "ok") throw new Error(parsed.text);
    const { options } = parsed;
    assert.equal(options.namespaceBounds.routes, 1_000_000);
    assert.equal(options.objectBounds.objectBytes, 1_048_576);
    assert.equal(options.gatherTime, 0);
    assert.equal(options.gateway, null);
    assert.deepEqual(options.serviceAnnotations, {
      "a.test/x": "1, 2",
      "a.test/json": '{"k": "v"}',
    });
    assert.deepEqual(options.publishAddresses, ["192.0.2.1", "2001:db8::1"]);
    assert.deepEqual(options.imagePullSecrets, ["one", "two"]);
    assert.deepEqual(options.proxyArgs, [
      "--workers=8",
      "--trusted-proxies=10.0.0.0/8",
      "--connection-limit=1000000",
    ]);
  },
);

for (
  const [set, sentence] of [
    [
      "controller.flags.backend=NodePort",
      /at '\/controller\/flags\/backend': value must be one of 'HostPort', 'LoadBalancer'/,
    ],
    [
      "controller.flags.gatherTimes=1s",
      /at '\/controller\/flags': additional properties 'gatherTimes' not allowed/,
    ],
    [
      "controller.flags.proxyReplicas=0",
      /at '\/controller\/flags\/proxyReplicas': minimum: got 0, want 1/,
    ],
    [
      "controller.flags.proxyReplicas=two",
      /at '\/controller\/flags\/proxyReplicas': got string, want integer/,
    ],
    [
      "controller.flags.gatherTime=soon",
      /at '\/controller\/flags\/gatherTime': 'soon' does not match pattern/,
    ],
    [
      "controller.flags.gatherTime=20s",
      /controller\.flags\.gatherTime is 20s; it takes a duration like 500ms, 10s or 1h up to 10s/,
    ],
    [
      "controller.flags.watchNamespace={Shop}",
      /at '\/controller\/flags\/watchNamespace\/0': 'Shop' does not match pattern/,
    ],
    [
      "controller.flags.admin=9091",
      /at '\/controller\/flags\/admin': got (?:number|integer), want string/,
    ],
    [
      "proxy.flags.requestHeadLimit=12",
      /proxy\.flags\.requestHeadLimit is 12; it takes a size in bytes like 512, 32KiB or 1MiB from 1KiB to 1MiB/,
    ],
    [
      "proxy.flags.requestHeadLimit=2MiB",
      /proxy\.flags\.requestHeadLimit is 2MiB; it takes a size/,
    ],
    [
      "proxy.flags.trustedProxies={ten}",
      /at '\/proxy\/flags\/trustedProxies\/0': 'ten' does not match pattern/,
    ],
    [
      "proxy.flags.listenHttp={web:80}",
      /at '\/proxy\/flags\/listenHttp\/0': 'web:80' does not match pattern/,
    ],
    [
      "proxy.flags.accessLogFields=times",
      /at '\/proxy\/flags\/accessLogFields': 'times' does not match pattern '\^.*\(bytesIn\|/,
    ],
    [
      "controller.flags.publishAddress={no address}",
      /at '\/controller\/flags\/publishAddress\/0': 'no address' does not match pattern/,
    ],
    [
      "controller.flags.acceptUnsupported={limit-rp}",
      /at '\/controller\/flags\/acceptUnsupported\/0': 'limit-rp' does not match pattern/,
    ],
    [
      "proxy.flags.config=/etc/x",
      /at '\/proxy\/flags': additional properties 'config' not allowed/,
    ],
    [
      "controller.flags.proxyMaxReplicas=1",
      /controller\.flags\.proxyMaxReplicas must be no smaller than proxyReplicas, which is 2/,
    ],
    [
      "controller.flags.renewDeadline=15s",
      /controller\.flags\.leaseDuration must be longer than renewDeadline/,
    ],
    [
      "controller.flags.retryPeriod=9s",
      /controller\.flags\.renewDeadline must be longer than 1\.2 times retryPeriod/,
    ],
    [
      "controller.flags.watchNamespace={shop},controller.flags.defaultSslCertificate=tls/wildcard",
      /controller\.flags\.defaultSslCertificate must be in a namespace that is watched: add tls to/,
    ],
    [
      "prometheusRule.disabled={PingressNoLeaders}",
      /at '\/prometheusRule\/disabled\/0': value must be one of 'PingressErrorBudgetBurnFast'/,
    ],
    [
      "prometheusRule.thresholds.errorBudget=1",
      /at '\/prometheusRule\/thresholds\/errorBudget': maximum: got 1, want 0\.06/,
    ],
    [
      "prometheusRule.create=true,prometheusRule.alertLabels.installation=edge",
      /prometheusRule\.alertLabels\.installation: each alert has its own installation; use another/,
    ],
    [
      "prometheusRule.create=true,prometheusRule.alertLabels.severity=page",
      /prometheusRule\.alertLabels\.severity: each alert has its own severity; use another label/,
    ],
    [
      "prometheusRule.create=true,prometheusRule.alertLabels.a b=c",
      /prometheusRule\.alertLabels: "a b" is not a valid label name: use letters, digits and underscores/,
    ],
    [
      "prometheusRule.create=true,prometheusRule.thresholds.errorBudget=0.07",
      /prometheusRule\.thresholds\.errorBudget is 0\.07: use at least 0\.000001 and at most 0\.06/,
    ],
    [
      "prometheusRule.create=true,prometheusRule.thresholds.staleSeconds=9.5",
      /prometheusRule\.thresholds\.staleSeconds is 9\.5: use at least 10\s/,
    ],
    [
      "prometheusRule.create=true,prometheusRule.thresholds.certificateDays=3",
      /certificateDays is 3, so that there is no warning .+ above certificateDaysCritical, which is 3,/,
    ],
    [
      "proxy.flags.traceRatio=1.5",
      /at '\/proxy\/flags\/traceRatio': '1\.5' does not match pattern/,
    ],
    [
      "controller.flags.listenRange=20000-10000",
      /controller\.flags\.listenRange is 20000-10000: give the first port before the last, and at most 512/,
    ],
    ["controller.flags.listenRange=20000-20512", /listenRange is 20000-20512: give the first/],
    [
      "controller.flags.listenRange=70000-80000",
      /at '\/controller\/flags\/listenRange': '70000-80000' does not match pattern/,
    ],
    ...[[8000, 8080], [8443, 8500], [9000, 9100]].map((range) =>
      [
        `controller.flags.listenRange=${range.join("-")}`,
        /listenRange is \d+-\d+, which contains (?:8080|8443|9090): use a range without 8080, 8443, 9090,/,
      ] as const
    ),
    [
      "controller.flags.gateway=false,controller.flags.listenRange=9000-9100",
      /controller\.flags\.listenRange is 9000-9100, which contains 9090: use a range without/,
    ],
    ...["listenHttp", "listenHttps"].map((name) =>
      [
        `proxy.flags.${name}={:9080,[::]:10255}`,
        new RegExp(
          String
            .raw`proxy\.flags\.${name} has \[::\]:10255, whose port is one of controller\.flags\.` +
            String
              .raw`listenRange, 10000-10255: use another port or range, or set controller\.flags\.gateway`,
        ),
      ] as const
    ),
    [
      "proxy.flags.listenHttp={0.0.0.0:20000},controller.flags.listenRange=20000-20000",
      /proxy\.flags\.listenHttp has 0\.0\.0\.0:20000, whose port is one of .+, 20000-20000: use/,
    ],
    [
      "proxy.flags.accessLogFormat=nginx,proxy.flags.accessLogFields=time",
      /proxy\.flags\.accessLogFields is time, which is for lines in JSON: remove it, or set .+ to json/,
    ],
    [
      "controller.flags.defaultBackend=a/b:0",
      /at '\/controller\/flags\/defaultBackend': 'a\/b:0' does not match pattern/,
    ],
    [
      "proxy.flags.accessLogFields=time\\, path\\,time",
      /proxy\.flags\.accessLogFields has time twice: name each field once/,
    ],
    ...["10.0.0.1/8", "10.8.0.0/012", "192.0.2.128/24", "1.0.0.0/0", "fd00::1/8", "2001:db9::/31"]
      .map(
        (block) =>
          [
            `proxy.flags.trustedProxies={192.0.2.0/24,${block}}`,
            /proxy\.flags\.trustedProxies has .+, which has bits behind its prefix: set them to 0/,
          ] as const,
      ),
    [
      "proxy.flags.upstreamNetworks={1:2:3:4:5:6:7:9/127}",
      /proxy\.flags\.upstreamNetworks has 1:2:3:4:5:6:7:9\/127, which has bits/,
    ],
    ...["http://10.0.0.256:4318", "http://[1]:4318"].map((url) =>
      [
        `proxy.flags.otlpEndpoint=${url}`,
        /at '\/proxy\/flags\/otlpEndpoint': .+ does not match pattern/,
      ] as const
    ),
    ["check.timeout=0s", /at '\/check\/timeout': '0s' does not match pattern/],
    ...["127.0.0.1:9091", "localhost:9091", "[::1]:9091"].map((address) =>
      [
        `controller.flags.admin=${address}`,
        /controller\.flags\.admin is .+, which the kubelet's probes do not reach: use \[::\]:9091/,
      ] as const
    ),
    [
      "controller.flags.admin=[::]:9443",
      /controller\.flags\.admin is \[::\]:9443, which has the port of the stream: use another port/,
    ],
    [
      "controller.flags.admin=:0",
      /controller\.flags\.admin is :0: give it a port from 1 to 65535/,
    ],
    [
      "controller.flags.stream=[::]:0",
      /controller\.flags\.stream is \[::\]:0: give it a port from 1 to 65535/,
    ],
    [
      "ingressClass.controller=foo: bar",
      /at '\/ingressClass\/controller': 'foo: bar' does not match pattern/,
    ],
    [
      "podMonitor.create=true,serviceMonitor.create=true",
      /podMonitor\.create and serviceMonitor\.create: set one of them, or everything is scraped twice/,
    ],
    ...[
      "foo",
      "ftp://collector:4318",
      "http://",
      "http://user@collector:4318",
      "http://c:4318?a",
      "http://c:99999",
    ]
      .map((url) =>
        [
          `proxy.flags.otlpEndpoint=${url}`,
          /at '\/proxy\/flags\/otlpEndpoint': '.+' does not match pattern/,
        ] as const
      ),
    ["controller.replicas=-1", /at '\/controller\/replicas': minimum: got -1, want 0/],
    [
      "image.registry=https://r.test/",
      /at '\/image\/registry': 'https:\/\/r\.test\/' does not match pattern/,
    ],
    ["ingresClass.create=false", /additional properties 'ingresClass' not allowed/],
  ] as const
) {
  helmTest(`--set ${set} is refused with a sentence`, async (helm) => {
    const { code, stdout, stderr } = await helm.tryTemplate({ args: ["--set", set] });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, sentence);
  });
}

for (
  const set of [
    "controller.flags.gateway=false,proxy.flags.listenHttp={:10080}",
    "proxy.flags.listenHttp={:9999},proxy.flags.listenHttps={:10256}",
    "controller.flags.listenRange=8081-8442",
    "proxy.flags.accessLogFormat=nginx",
    "proxy.flags.accessLogFormat=json,proxy.flags.accessLogFields=time",
    "proxy.flags.accessLog=false,proxy.flags.accessLogFormat=nginx,proxy.flags.accessLogFields=time",
  ]
) {
  helmTest(`--set ${set} starts both programs`, async (helm) => {
    const found = argumentsOf(await helm.template({ args: ["--set", set] }));
    const controller = parseControllerOptions(found);
    if (controller.kind !== "ok") throw new Error(controller.text);
    const workload = await readWorkload(controller.options);
    if (!workload.ok) throw new Error(workload.message);
    const { args, mistakes } = proxyArgs(workload.options);
    assert.deepEqual(mistakes, []);
    // The kubelet fills in the limit.
    const proxy = parseProxyOptions(args.filter((arg) => !arg.startsWith("--memory-limit=")));
    assert.equal(proxy.kind, "ok", proxy.kind === "ok" ? "" : proxy.text);
  });
}

helmTest("parts that need Kubernetes 1.30 are refused on older ones", async (helm) => {
  for (const name of ["gateway", "admission"]) {
    const set = ["--set", `${name}.create=true`];
    const { code, stderr } = await helm.tryTemplate({ args: [...set, "--kube-version=1.29.9"] });
    assert.equal(code, 1);
    assert.match(
      stderr,
      new RegExp(
        `${name}\\.create needs Kubernetes 1\\.30 or newer, and this is v1\\.29\\.9: upgrade`,
      ),
    );
    for (const version of ["1.30.0", "v1.30.2-gke.1", "1.31.1-eks-abc"]) {
      await helm.template({ args: [...set, `--kube-version=${version}`] });
    }
  }
  await helm.template({ args: ["--kube-version=1.28.0"] });
});

helmTest("names of classes are text, whatever they look like", async (helm) => {
  const names = { ingressClass: "name", nginxClass: "name", gateway: "className" };
  for (const text of ["123", "true", "1e3"]) {
    const args = Object.entries(names).flatMap(([group, key]) => [
      ...["--set", `${group}.create=true`, "--set-string", `${group}.${key}=${text}`],
    ]);
    const classes = (await helm.template({ args })).filter(({ kind }) => /Class$/.test(kind))
      .filter(({ kind }) => kind !== "PriorityClass");
    assert.deepEqual(classes.map(({ metadata }) => metadata.name), [text, text, text]);
  }
});

helmTest("thresholds by --set are numbers of the alerts", async (helm) => {
  const set = "prometheusRule.create=true,prometheusRule.thresholds.latencySeconds=2.5";
  const rules = rulesOf(await helm.template({ args: ["--set", set] }));
  const { expr } = rules.find(({ alert }) => alert === "PingressBackendLatencyHigh")!;
  assert.match(expr, /> 2\.5\)/);
});

helmTest("notes name the classes that are served, and the label for metrics", async (helm) => {
  const notes = async (set: string) => {
    const text = await helm.succeed([
      ...["install", RELEASE, CHART, `--namespace=${NAMESPACE}`, "--dry-run=client"],
      ...["--set", set],
    ]);
    return text.slice(text.indexOf("NOTES:"));
  };
  for (
    const [set, classes] of [
      ["ingressClass.name=edge", "edge"],
      ["ingressClass.create=false", "pingress"],
      ["ingressClass.create=false,controller.flags.ingressClass={edge}", "edge"],
      ["nginxClass.create=true", "pingress or pingress-nginx"],
      ["gateway.create=true,gateway.className=gate", "pingress, or Gateway of class gate"],
    ]
  ) {
    const text = await notes(set);
    assert.ok(text.includes(`with the first Ingress of class ${classes}:`), text);
    assert.ok(!text.includes("pingress.io/metrics"), text);
  }
  const label = /\n {2}kubectl label namespace NAMESPACE pingress\.io\/metrics=allowed\n\nhelm/;
  assert.match(await notes("podMonitor.create=true"), label);
  assert.match(await notes("serviceMonitor.create=true"), label);
  assert.doesNotMatch(await notes("podMonitor.create=true,networkPolicy.create=false"), label);
});

helmTest("a value that is null is refused with a sentence where it is needed", async (helm) => {
  const leaves = [...valuesOf(VALUES)].filter(([, { default: fallback }]) =>
    fallback !== undefined
  );
  const groups = Object.entries(VALUES).filter(([, value]) => isGroup(value)).map(([key]) => key);
  const paths = [...leaves.map(([path]) => path), ...groups, "controller.flags", "proxy.flags"];
  assert.ok(paths.length > 60);
  for (const path of paths) {
    const { code, stdout, stderr } = await helm.tryTemplate({ args: ["--set", `${path}=null`] });
    assert.deepEqual([code, stdout], [1, ""], path);
    const keys = path.split(".");
    const parent = keys.slice(0, -1).map((key) => `/${key}`).join("");
    assert.ok(
      stderr.includes(`at '${parent}': missing property '${keys.at(-1)}'`),
      `${path}: ${stderr}`,
    );
  }
});

for (const namespace of [NAMESPACE, "edge-2"]) {
  helmTest(
    `in namespace ${namespace}, every binding refers to a role of the release`,
    async (helm) => {
      const { code, stdout, stderr } = await helm.tryTemplate({
        namespace,
        values: { gateway: { create: true }, nginxClass: { create: true } },
      });
      assert.equal(code, 0, stderr);
      const objects = objectsOf(stdout);
      const names = new Set(objects.map(keyOf));
      const bindings = objects.filter(({ kind }) => /^(Cluster)?RoleBinding$/.test(kind));
      assert.ok(bindings.some(({ metadata }) => metadata.name === "pingress-check"));
      for (const binding of bindings) {
        const { roleRef, subjects } = binding as unknown as {
          roleRef: { kind: string; name: string };
          subjects: { kind: string; name: string; namespace?: string }[];
        };
        const place = roleRef.kind === "Role" ? binding.metadata.namespace : "";
        assert.ok(names.has(`${roleRef.kind} ${place} ${roleRef.name}`), keyOf(binding));
        for (const { kind, name, namespace } of subjects.filter(({ kind }) => kind !== "Group")) {
          assert.ok(names.has(`${kind} ${namespace} ${name}`), keyOf(binding));
        }
      }
    },
  );
}

helmTest(
  "a release in another namespace has its own names in the cluster, and serves that namespace",
  async (helm) => {
    const values = { gateway: { create: true }, admission: { create: true } };
    const isShared = ({ kind, metadata }: KubeObject) =>
      metadata.namespace === undefined && !/^(IngressClass|GatewayClass)$/.test(kind);
    const names = (objects: readonly KubeObject[]) => objects.filter(isShared).map(keyOf);
    const first = names(await helm.template({ values }));
    const objects = await helm.template({ values, namespace: "edge-2" });
    assert.ok(first.length > 5);
    assert.deepEqual(names(objects), first.map((name) => `${name}-edge-2`));
    const parsed = parseControllerOptions(argumentsOf(objects));
    assert.equal(parsed.kind === "ok" ? parsed.options.namespace : parsed.text, "edge-2");
    const text = JSON.stringify(objects);
    assert.ok(!text.includes(NAMESPACE), "something names the namespace of the manifests");
    assert.ok(text.includes("system:serviceaccount:edge-2:pingress-controller-user"));
  },
);

helmTest("another registry is that of both images and of the admission policy", async (helm) => {
  const objects = await helm.template({
    values: {
      image: { registry: "r.test/team", tag: "1.2.3", proxyDigest: `sha256:${"a".repeat(64)}` },
      admission: { create: true },
    },
  });
  const text = JSON.stringify(objects);
  assert.ok(text.includes('"image":"r.test/team/pingress-controller:1.2.3"'));
  assert.ok(
    argumentsOf(objects).includes(
      `--proxy-server-image=r.test/team/pingress-proxy-server:1.2.3@sha256:${"a".repeat(64)}`,
    ),
  );
  assert.ok(text.includes(String.raw`{"name":"imagePrefix","expression":"\"r.test/team/\""}`));
  assert.ok(!text.includes("ghcr.io"));
});

helmTest("ports of flags are those of containers, Services and NetworkPolicies", async (helm) => {
  const flags = { admin: "[::]:19091", stream: "[::]:19443", listenRange: "20000-20100" };
  const values = {
    controller: { flags },
    serviceMonitor: { create: true },
    gateway: { create: true },
  };
  const text = JSON.stringify(await helm.template({ values }));
  assert.ok(text.includes('{"name":"admin","containerPort":19091}'));
  assert.ok(text.includes('{"name":"stream","containerPort":19443}'));
  assert.ok(text.includes('{"protocol":"TCP","port":20000,"endPort":20100}'));
  assert.ok(text.includes('{"protocol":"TCP","port":19443}'));
  assert.ok(text.includes('{"protocol":"TCP","port":19091}'));
  assert.ok(text.includes(String.raw`{"name":"listenRange","expression":"\"20000-20100\""}`));
  assert.ok(text.includes('{"name":"metrics","port":19091,"targetPort":"admin"}'));
});

helmTest(
  "a pod template of the proxies is a file of the controller, which a change restarts",
  async (helm) => {
    const rendered = async (memory: string) => {
      const containers = [{ name: "pingress-proxy-server", resources: { limits: { memory } } }];
      return await helm.template({ values: { proxy: { podTemplate: { spec: { containers } } } } });
    };
    const [first, second] = [await rendered("2Gi"), await rendered("4Gi")];
    const file = argumentsOf(first).find((arg) => arg.startsWith("--proxy-pod-template="));
    const folder = file!.replace(/^.*=/, "").replace(/\/[^/]+$/, "");
    const config = first.find(({ metadata }) => metadata.name === "pingress-pod-template");
    assert.deepEqual(Object.keys(config?.data as object), [file!.split("/").at(-1)]);
    assert.ok(JSON.stringify(first).includes(`"mountPath":"${folder}"`));
    const template = (objects: readonly KubeObject[]) =>
      JSON.stringify(objects.find(({ kind }) => kind === "Deployment"));
    assert.notEqual(template(first), template(second));
  },
);

interface Rule {
  readonly alert?: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Of all PrometheusRules. */
function rulesOf(objects: readonly KubeObject[]): Rule[] {
  return objects.filter(({ kind }) => kind === "PrometheusRule").flatMap((object) =>
    (object as unknown as { spec: { groups: { rules: Rule[] }[] } }).spec.groups
      .flatMap(({ rules }) => rules)
  );
}

helmTest("alerts have the thresholds and labels of the values, or are left out", async (helm) => {
  const rules = async (values: unknown) =>
    rulesOf(
      await helm.template({ values: { prometheusRule: { create: true, ...values as object } } }),
    );
  const all = await rules({});
  assert.deepEqual(
    all.flatMap(({ alert }) => alert ?? []).sort(),
    ALERTS.map(({ name }) => name).sort(),
  );
  const changed = await rules({
    alertLabels: { team: "edge" },
    disabled: ["PingressNoLeader", "PingressCertificateExpiresSoon"],
    thresholds: { errorBudget: 0.00005, latencySeconds: 2.5, certificateDaysCritical: 1 },
  });
  const of = (name: string) => changed.find(({ alert }) => alert === name);
  assert.equal(changed.length, all.length - 2);
  assert.deepEqual([of("PingressNoLeader"), of("PingressCertificateExpiresSoon")], [
    undefined,
    undefined,
  ]);
  assert.match(of("PingressErrorBudgetBurnFast")!.expr, /> 14\.4 \* 5e-05\)/);
  assert.match(of("PingressBackendLatencyHigh")!.expr, /> 2\.5\)/);
  assert.match(of("PingressCertificateNearlyExpired")!.expr, /< 1 \* 86400/);
  assert.deepEqual(of("PingressNoReadyProxy")!.labels, {
    severity: "critical",
    installation: NAMESPACE,
    team: "edge",
  });
  assert.ok(changed.every(({ alert, labels }) => alert === undefined || labels.team === "edge"));
  const none = await rules({ disabled: ALERTS.map(({ name }) => name) });
  assert.deepEqual(none.filter(({ alert }) => alert !== undefined), []);
});

helmTest("alerts are about the namespace of the release, whatever its name", async (helm) => {
  const rules = rulesOf(
    await helm.template({ namespace: "1234", values: { prometheusRule: { create: true } } }),
  );
  for (const { expr, labels } of rules) {
    assert.equal(labels.installation, "1234");
    assert.match(expr, /(namespace|installation)="1234"/);
    assert.doesNotMatch(expr, /\$\{/);
  }
});

for (const kind of ["podMonitor", "serviceMonitor"]) {
  helmTest(`a ${kind} keeps the labels that metrics have themselves`, async (helm) => {
    const objects = await helm.template({ values: { [kind]: { create: true } } });
    const endpoints = objects.flatMap((object) => {
      const { spec } = object as unknown as {
        spec?: Readonly<Record<string, readonly { readonly honorLabels?: boolean }[]>>;
      };
      return object.kind.toLowerCase() === kind.toLowerCase()
        ? spec!.podMetricsEndpoints ?? spec!.endpoints
        : [];
    });
    assert.deepEqual(endpoints.map(({ honorLabels }) => honorLabels), [true, true]);
  });
}

helmTest("optional parts come and go with their values", async (helm) => {
  const kinds = async (values: unknown) =>
    (await helm.template({ values })).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  const base = await kinds({});
  const added = async (values: unknown) =>
    (await kinds(values)).filter((name) => !base.includes(name)).sort();
  assert.deepEqual(await added({ podMonitor: { create: true } }), [
    "PodMonitor/pingress-controller",
    "PodMonitor/pingress-proxy-server",
  ]);
  assert.deepEqual(await added({ serviceMonitor: { create: true } }), [
    "Service/pingress-controller-metrics",
    "Service/pingress-proxy-server-metrics",
    "ServiceMonitor/pingress-controller",
    "ServiceMonitor/pingress-proxy-server",
  ]);
  assert.deepEqual(
    await added({ controller: { podDisruptionBudget: { create: true } } }),
    ["PodDisruptionBudget/pingress-controller"],
  );
  const off = await kinds({
    networkPolicy: { create: false },
    ingressClass: { create: false },
    priorityClass: { create: false },
    rbac: { create: false },
  });
  assert.deepEqual(off, ["Service/pingress-controller", "Deployment/pingress-controller"]);
});

helmTest("every file with alerts or a dashboard is an object", async (helm) => {
  const objects = await helm.template({
    values: { prometheusRule: { create: true }, dashboards: { create: true } },
  });
  const count = (folder: string, ending: string) => {
    try {
      return [...Deno.readDirSync(join(ROOT, CHART, "files", folder))]
        .filter(({ name }) => name.endsWith(ending)).length;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return 0;
      throw error;
    }
  };
  const rules = objects.filter(({ kind }) => kind === "PrometheusRule");
  const dashboards = objects.filter(({ metadata }) => /-dashboard-/.test(metadata.name));
  assert.equal(rules.length, count("alerts", ".yaml"));
  assert.equal(dashboards.length, count("dashboards", ".json"));
  for (const { data } of dashboards as { data?: Record<string, string> }[]) {
    const [[name, text]] = Object.entries(data ?? {});
    const file = Deno.readTextFileSync(join(ROOT, CHART, "files/dashboards", name));
    assert.deepEqual(JSON.parse(text), JSON.parse(file), name);
  }
});

helmTest("nothing of the chart is a CustomResourceDefinition", async (helm) => {
  for (const monitor of ["podMonitor", "serviceMonitor"]) {
    const keys = ["gateway", "admission", "nginxClass", "prometheusRule", "dashboards", monitor];
    const everything = await helm.template({
      values: Object.fromEntries(keys.map((key) => [key, { create: true }])),
      args: ["--include-crds"],
    });
    assert.deepEqual(everything.filter(({ kind }) => kind === "CustomResourceDefinition"), []);
  }
});

helmTest("helm lint finds nothing, and helm package makes the chart", async (helm) => {
  const { code, stdout, stderr } = await helm.run(["lint", "--strict", CHART]);
  assert.equal(code, 0, stdout + stderr);
  const folder = await Deno.makeTempDir();
  try {
    const packaged = await helm.succeed(["package", CHART, `--destination=${folder}`]);
    assert.match(packaged, /pingress-\d+\.\d+\.\d+\.tgz/);
    const [{ name }] = [...Deno.readDirSync(folder)];
    const text = await helm.succeed([
      "template",
      RELEASE,
      join(folder, name),
      `--namespace=${NAMESPACE}`,
      "--no-hooks",
    ]);
    assert.deepEqual(objectsOf(text), await helm.template());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
