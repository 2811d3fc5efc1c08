import assert from "node:assert/strict";
import type { Plan } from "./plan.ts";
import { describeUpstream } from "./upstream_text.ts";
import { planFor, type PlanInput, problemLines } from "../tests/support/dev_plan.ts";

function ingressTo(service: string, port: string): string {
  return `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: { name: to-${service}-${port} }
spec:
  rules:
    - host: ${service}-${port}.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: { service: { name: ${service}, port: ${
    /^\d+$/.test(port) ? `{ number: ${port} }` : `{ name: ${port} }`
  } } }
---
`;
}

function service(spec: string, annotation = ""): string {
  return `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations: {${annotation}}
spec: ${spec}
---
`;
}

function slice(name: string, endpoints: string, ports = "[{ name: http, port: 8080 }]"): string {
  return `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: ${name}, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: ${ports}
endpoints: ${endpoints}
---
`;
}

const TWO_PORTS = "{ ports: [{ name: http, port: 80 }, { name: admin, port: 81 }] }";
const HTTP = "{ ports: [{ name: http, port: 80 }] }";
const ONE = "127.0.0.1:4001";
const TWO = "127.0.0.1:4002";

function endpointsOf(plan: Plan, id: string): string[] | null {
  const upstream = plan.snapshot.upstreams.find((upstream) => upstream.id === id);
  if (upstream === undefined) return null;
  assert.equal(upstream.addresses.kind, "endpoints");
  return upstream.addresses.kind === "endpoints"
    ? upstream.addresses.endpoints.map(({ address, port }) => `${address}:${port}`)
    : [];
}

interface Case {
  readonly name: string;
  readonly yaml: string;
  readonly input?: PlanInput;
  /** By upstream: the endpoints, and what the table says. */
  readonly expected: Readonly<Record<string, readonly [readonly string[], string]>>;
  readonly problems?: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: "a Service without EndpointSlices gets both sample backends",
    yaml: ingressTo("web", "80") + service(HTTP),
    expected: { "default/web:80": [[ONE, TWO], "sample backend"] },
  },
  {
    name: "each address of an EndpointSlice gets a sample backend in turn, across slices",
    yaml: ingressTo("web", "80") + service(HTTP) +
      slice("a", "[{ addresses: [10.0.0.1] }]") + slice("b", "[{ addresses: [10.0.0.2] }]"),
    expected: { "default/web:80": [[ONE, TWO], "sample backend"] },
  },
  {
    name: "an endpoint that is not ready gets no request while another one is",
    yaml: ingressTo("web", "80") + service(HTTP) +
      slice(
        "a",
        "[{ addresses: [10.0.0.1], conditions: { ready: false } }, { addresses: [10.0.0.2] }]",
      ),
    expected: { "default/web:80": [[TWO], "sample backend"] },
  },
  {
    name: "a Service without a ready endpoint responds with 503, as in a cluster",
    yaml: ingressTo("web", "80") + service(HTTP) +
      slice("a", "[{ addresses: [10.0.0.1], conditions: { ready: false } }]"),
    expected: { "default/web:80": [[], "nothing ready (503)"] },
    problems: [
      "a.yaml:11  Ingress/default/to-web-80  spec.rules[0].http.paths[0].backend.service.name  EndpointsMissing",
    ],
  },
  {
    name: "an address of this machine in an EndpointSlice is dialled unchanged",
    yaml: ingressTo("web", "80") + service(HTTP) + slice("a", "[{ addresses: [127.0.0.1] }]"),
    expected: { "default/web:80": [["127.0.0.1:8080"], "127.0.0.1:8080"] },
  },
  {
    name: "the annotation sends all ports of a Service to a program on this machine",
    yaml: ingressTo("web", "80") + ingressTo("web", "admin") +
      service(TWO_PORTS, "dev.pingress.io/endpoint: '127.0.0.1:3000'") +
      slice("a", "[{ addresses: [10.0.0.1] }]"),
    expected: {
      "default/web:80": [["127.0.0.1:3000"], "127.0.0.1:3000 (annotation)"],
      "default/web:admin": [["127.0.0.1:3000"], "127.0.0.1:3000 (annotation)"],
    },
  },
  {
    name: "the annotation may name a program for each port, by name or number",
    yaml: ingressTo("web", "80") + ingressTo("web", "admin") +
      service(TWO_PORTS, "dev.pingress.io/endpoint: 'http=127.0.0.1:3000, 81=[::1]:3001'"),
    expected: {
      "default/web:80": [["127.0.0.1:3000"], "127.0.0.1:3000 (annotation)"],
      "default/web:admin": [["::1:3001"], "[::1]:3001 (annotation)"],
    },
  },
  {
    name: "a port that the annotation does not name keeps its sample backends",
    yaml: ingressTo("web", "80") + ingressTo("web", "admin") +
      service(TWO_PORTS, "dev.pingress.io/endpoint: 'admin=127.0.0.1:3000'"),
    expected: {
      "default/web:80": [[ONE, TWO], "sample backend"],
      "default/web:admin": [["127.0.0.1:3000"], "127.0.0.1:3000 (annotation)"],
    },
  },
  {
    name: "localhost is both of its addresses, since programs listen on either",
    yaml: ingressTo("web", "80") +
      service(HTTP, "dev.pingress.io/endpoint: 'localhost:3000'"),
    expected: {
      "default/web:80": [["127.0.0.1:3000", "::1:3000"], "localhost:3000 (annotation)"],
    },
  },
  {
    name: "--map overrides the annotation, and a port's mapping one for all ports",
    yaml: ingressTo("web", "80") + ingressTo("web", "admin") +
      service(TWO_PORTS, "dev.pingress.io/endpoint: '127.0.0.1:3000'"),
    input: { map: ["default/web=127.0.0.1:5000", "default/web:admin=127.0.0.1:5001"] },
    expected: {
      "default/web:80": [["127.0.0.1:5000"], "127.0.0.1:5000 (--map)"],
      "default/web:admin": [["127.0.0.1:5001"], "127.0.0.1:5001 (--map)"],
    },
  },
  {
    name: "--map serves a Service that only Ingresses name",
    yaml: ingressTo("web", "80") + ingressTo("web", "admin"),
    input: { map: ["default/web=127.0.0.1:5000"] },
    expected: {
      "default/web:80": [["127.0.0.1:5000"], "127.0.0.1:5000 (--map)"],
      "default/web:admin": [["127.0.0.1:5000"], "127.0.0.1:5000 (--map)"],
    },
  },
  {
    name: "--map serves a Service of type ExternalName",
    yaml: ingressTo("web", "80") +
      service("{ type: ExternalName, externalName: example.com, ports: [{ port: 80 }] }"),
    input: { map: ["default/web=127.0.0.1:5000"] },
    expected: { "default/web:80": [["127.0.0.1:5000"], "127.0.0.1:5000 (--map)"] },
  },
  {
    name: "--map of a Service that no Ingress names, or of a missing port, is a warning",
    yaml: ingressTo("web", "80") + service(HTTP),
    input: { map: ["other/web=127.0.0.1:5000", "default/web:82=127.0.0.1:5000"] },
    expected: { "default/web:80": [[ONE, TWO], "sample backend"] },
    problems: [
      "a.yaml:18  Service/default/web  spec.ports  MappingUnused",
      "-  Service/other/web  -  MappingUnused",
    ],
  },
  {
    name: "an annotation without a valid address is a problem, and a sample backend is used",
    yaml: ingressTo("web", "80") + service(HTTP, "dev.pingress.io/endpoint: 'port 3000'"),
    expected: { "default/web:80": [[ONE, TWO], "sample backend"] },
    problems: [
      'a.yaml:17  Service/default/web  metadata.annotations["dev.pingress.io/endpoint"]  AnnotationInvalid',
    ],
  },
  {
    name: "an annotation cannot make this machine dial another one",
    yaml: ingressTo("web", "80") + service(HTTP, "dev.pingress.io/endpoint: '10.0.0.1:80'"),
    expected: { "default/web:80": [[ONE, TWO], "sample backend"] },
    problems: [
      'a.yaml:17  Service/default/web  metadata.annotations["dev.pingress.io/endpoint"]  AnnotationInvalid',
    ],
  },
  {
    name: "an annotation for a missing port is a problem",
    yaml: ingressTo("web", "80") + service(HTTP, "dev.pingress.io/endpoint: 'x=127.0.0.1:80'"),
    expected: { "default/web:80": [[ONE, TWO], "sample backend"] },
    problems: [
      'a.yaml:17  Service/default/web  metadata.annotations["dev.pingress.io/endpoint"]  AnnotationInvalid',
    ],
  },
];

for (const { name, yaml, input, expected, problems } of CASES) {
  Deno.test(name, () => {
    const plan = planFor({ "a.yaml": yaml }, input);
    for (const [id, [endpoints, text]] of Object.entries(expected)) {
      assert.deepEqual(endpointsOf(plan, id), endpoints, id);
      assert.equal(describeUpstream(plan, id), text);
    }
    assert.deepEqual(problemLines(plan), problems ?? []);
  });
}

Deno.test("a missing Service responds with 503", () => {
  const plan = planFor({ "a.yaml": ingressTo("web", "80") });
  assert.equal(plan.snapshot.routes[0].action.kind, "reply");
  assert.equal(plan.problems.length, 1);
});

Deno.test("the default backend of the command line gets a sample backend too", () => {
  const defaultBackend = { namespace: "default", name: "web", port: "http" };
  const plan = planFor({ "a.yaml": service(HTTP) }, { defaultBackend });
  assert.deepEqual(endpointsOf(plan, "default/web:http"), [ONE, TWO]);
  assert.deepEqual(plan.problems, []);
});

Deno.test("objects of any shape do not affect the others", () => {
  const shapes = ["null", "5", "text", "[]", "[null]", "{}", "[{}]", "[[]]", "{ a: b }"];
  for (const shape of shapes) {
    const broken = [
      `{ apiVersion: v1, kind: Service, metadata: { name: web, annotations: ${shape} }, spec: ${shape} }`,
      `{ apiVersion: v1, kind: Service, metadata: { name: web }, spec: { ports: ${shape} } }`,
      `{ apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: { name: s, labels: { kubernetes.io/service-name: good } }, endpoints: ${shape}, ports: ${shape} }`,
      `{ apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: { name: t, labels: ${shape} } }`,
      `{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: b }, spec: ${shape} }`,
      `{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: c }, spec: { rules: ${shape}, defaultBackend: ${shape} } }`,
      `{ apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: { name: d }, spec: { rules: [{ http: { paths: ${shape} } }] } }`,
    ];
    const good = ingressTo("fine", "80") + service(HTTP).replace("web", "fine");
    const plan = planFor({
      "a.yaml": broken.join("\n---\n"),
      "b.yaml": ingressTo("web", "80"),
      "c.yaml": good,
    });
    assert.deepEqual(endpointsOf(plan, "default/fine:80"), [ONE, TWO], shape);
  }
});

Deno.test("a sample backend replaces a TLS backend, in plain text", () => {
  const ports = "{ ports: [{ name: tls, port: 443, appProtocol: https }, " +
    "{ name: rpc, port: 50051, appProtocol: grpcs }] }";
  const plan = planFor({
    "a.yaml": ingressTo("web", "443") + ingressTo("web", "50051") +
      service(ports, 'pingress.io/upstream-tls-ca: "none"'),
  });
  assert.deepEqual(
    plan.snapshot.upstreams.map(({ id, protocol }) => [id, protocol]),
    [["default/web:443", "http"], ["default/web:50051", "h2c"]],
  );
  assert.deepEqual(problemLines(plan).map((line) => line.split("  ").at(-1)), [
    "UpstreamCaInvalid",
  ]);
});

Deno.test("a sample backend speaks HTTP/2 if the port requires it, with and without slices", () => {
  const ports = "[{ name: http, port: 80 }, { name: rpc, port: 50051, appProtocol: grpc }]";
  const ingresses = ingressTo("web", "80") + ingressTo("web", "50051") +
    service(`{ ports: ${ports} }`);
  const slices = slice("s", "[{ addresses: [10.0.0.1] }, { addresses: [10.0.0.2] }]", ports);
  for (const yaml of [ingresses, ingresses + slices]) {
    const plan = planFor({ "a.yaml": yaml });
    assert.deepEqual(endpointsOf(plan, "default/web:80"), [ONE, TWO]);
    assert.deepEqual(endpointsOf(plan, "default/web:50051"), ["127.0.0.1:4003", "127.0.0.1:4004"]);
    assert.equal(describeUpstream(plan, "default/web:50051"), "sample backend");
    assert.deepEqual(problemLines(plan), []);
  }
});

function annotated(yaml: string, annotations: string): string {
  return yaml.replace("metadata: {", `metadata: { annotations: { ${annotations} },`);
}

const PROFILE = { nginxClasses: ["pingress"] };

for (
  const [protocol, spoken, endpoints] of [
    ["HTTPS", "http", [ONE, TWO]],
    ["GRPC", "h2c", ["127.0.0.1:4003", "127.0.0.1:4004"]],
    ["GRPCS", "h2c", ["127.0.0.1:4003", "127.0.0.1:4004"]],
  ] as const
) {
  Deno.test(`a sample backend is spoken to in plain text for backend-protocol ${protocol}`, () => {
    const annotation = `nginx.ingress.kubernetes.io/backend-protocol: ${protocol}`;
    const yaml = annotated(ingressTo("web", "80"), annotation) + service(HTTP);
    const [{ id, protocol: got, tls }] = planFor({ "a.yaml": yaml }, PROFILE).snapshot.upstreams;
    assert.deepEqual([got, tls], [spoken, undefined]);
    const slices = slice("s", "[{ addresses: [10.0.0.1] }, { addresses: [10.0.0.2] }]");
    for (const files of [{ "a.yaml": yaml }, { "a.yaml": yaml + slices }]) {
      const plan = planFor(files, PROFILE);
      assert.deepEqual(endpointsOf(plan, id), endpoints);
      assert.equal(describeUpstream(plan, id), "sample backend");
    }
    const mapped = planFor(
      { "a.yaml": yaml },
      { ...PROFILE, map: ["default/web=127.0.0.1:3000"] },
    );
    assert.equal(describeUpstream(mapped, id), "127.0.0.1:3000 (--map)");
    assert.notEqual(mapped.snapshot.upstreams[0].protocol, "http");
    assert.equal(mapped.snapshot.upstreams[0].tls === undefined, protocol === "GRPC");
  });
}

Deno.test("the Service of default-backend gets a sample backend", () => {
  const yaml = annotated(
    ingressTo("web", "80"),
    "nginx.ingress.kubernetes.io/default-backend: errors",
  );
  const errors = service(HTTP).replace("name: web", "name: errors");
  const nothing = slice("s", "[]");
  const plan = planFor({ "a.yaml": yaml + service(HTTP) + nothing + errors });
  const { action } = plan.snapshot.routes[0];
  assert.equal(action.kind, "forward");
  const id = action.kind === "forward" ? action.backends[0].upstream : "";
  assert.match(id, /^default\/errors:/);
  assert.deepEqual(endpointsOf(plan, id), [ONE, TWO]);
  assert.equal(describeUpstream(plan, id), "sample backend");
});

Deno.test("a slice without endpoints is not reported as missing", () => {
  const plan = planFor({ "a.yaml": ingressTo("web", "80") + service(HTTP) + slice("s", "[]") });
  const [{ problem }] = plan.problems;
  assert.equal(problem.reason, "EndpointsMissing");
  assert.doesNotMatch(problem.message, /it has no EndpointSlices/);
});

const AUTH = ingressTo("web", "80").replace(
  "metadata: {",
  'metadata: { annotations: {nginx.ingress.kubernetes.io/auth-url: "http://auth.default.svc/"},',
) + service(HTTP) + service(HTTP).replace("name: web", "name: auth");

Deno.test("a Service of auth-url gets a program on this machine, and never a sample backend", () => {
  const id = "default/auth:80+http+auth";
  assert.deepEqual(endpointsOf(planFor({ "a.yaml": AUTH }, PROFILE), id), []);
  const mapped = { ...PROFILE, map: ["default/auth=127.0.0.1:3000"] };
  assert.deepEqual(endpointsOf(planFor({ "a.yaml": AUTH }, mapped), id), ["127.0.0.1:3000"]);
});
