/**
 * Manifests that strict validation refuses. Each has one mistake, and what `deno task dev` says of
 * it; tests against a real API server show that it refuses each.
 */
export interface StrictMistake {
  readonly name: string;
  readonly text: string;
  /** Line, column, field, reason and remedy. */
  readonly expected: readonly [number, number, string, string, string];
}

const PATH = "spec.rules[0].http.paths[0]";

const INGRESS = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations:
    example.com/a: "b"
spec:
  rules:
    - host: app.test
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: web
                port:
                  number: 80
`;

const SERVICE = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  selector:
    app: web
  ports:
    - port: 80
`;

const SLICE = `apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
addressType: IPv4
endpoints:
  - addresses: ["10.0.0.1"]
    conditions:
      ready: true
ports:
  - port: 80
`;

const SECRET = `apiVersion: v1
kind: Secret
metadata:
  name: key
stringData:
  a: b
`;

const CLASS = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata:
  name: pingress
spec:
  controller: pingress.io/ingress-controller
`;

const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata:
  name: team-a
`;

/** What the manifests below are made of; the API server takes them. */
export const VALID: Readonly<Record<string, string>> = {
  INGRESS,
  SERVICE,
  SLICE,
  SECRET,
  CLASS,
  NAMESPACE,
};

function unknown(
  name: string,
  text: string,
  [line, column]: readonly [number, number],
  field: string,
  remedy: string,
): StrictMistake {
  return { name, text, expected: [line, column, field, "FieldUnknown", remedy] };
}

export const STRICT_MISTAKES: readonly StrictMistake[] = [
  unknown("rule", INGRESS.replace("rules:", "rule:"), [8, 3], "spec.rule", 'Write "rules"'),
  unknown(
    "pathTyp",
    INGRESS.replace("pathType", "pathTyp"),
    [13, 13],
    `${PATH}.pathTyp`,
    'Write "pathType"',
  ),
  unknown(
    "pathtype",
    INGRESS.replace("pathType", "pathtype"),
    [13, 13],
    `${PATH}.pathtype`,
    'Write "pathType"',
  ),
  unknown(
    "bakend",
    INGRESS.replace("backend", "bakend"),
    [14, 13],
    `${PATH}.bakend`,
    'Write "backend"',
  ),
  unknown("metdata", INGRESS.replace("metadata", "metdata"), [3, 1], "metdata", 'Write "metadata"'),
  unknown(
    "spec under metadata",
    INGRESS.slice(0, INGRESS.indexOf("spec:")) + "  spec: {}\n",
    [7, 3],
    "metadata.spec",
    "Move it to the top level: begin it in column 1, as kind",
  ),
  unknown("a name of nothing", `${INGRESS}  foo: 1\n`, [19, 3], "spec.foo", "Remove it"),
  unknown("an unknown field of null", `${INGRESS}  foo:\n`, [19, 3], "spec.foo", "Remove it"),
  unknown(
    "ingressClass",
    `${INGRESS}  ingressClass: pingress\n`,
    [19, 3],
    "spec.ingressClass",
    'Write "ingressClassName"',
  ),
  unknown(
    "servicePort beside service",
    INGRESS.replace(
      "              service:",
      "              servicePort: 80\n              service:",
    ),
    [15, 15],
    `${PATH}.backend.servicePort`,
    'Write "service.port.number", or "service.port.name"',
  ),
  unknown(
    "backend of v1beta1",
    `${INGRESS}  backend: {}\n`,
    [19, 3],
    "spec.backend",
    'Write "defaultBackend"',
  ),
  unknown(
    "paths beside host",
    INGRESS.replace("      http:\n        paths:", "      paths:"),
    [10, 7],
    "spec.rules[0].paths",
    "Move it to spec.rules[0].http.paths",
  ),
  unknown(
    "annotations under spec",
    `${INGRESS}  annotations: {}\n`,
    [19, 3],
    "spec.annotations",
    "Move it to metadata.annotations",
  ),
  unknown(
    "a host under spec",
    `${INGRESS}  host: app.test\n`,
    [19, 3],
    "spec.host",
    "Move it to spec.rules[].host",
  ),
  unknown(
    "a name that all objects of JavaScript have",
    `${INGRESS}  constructor: {}\n`,
    [19, 3],
    "spec.constructor",
    "Remove it",
  ),
  unknown(
    "a name with dots",
    `${INGRESS}  pingress.io/balance: round-robin\n`,
    [19, 3],
    'spec["pingress.io/balance"]',
    "Remove it",
  ),
  unknown(
    "targetport of a Service",
    `${SERVICE}      targetport: 8080\n`,
    [10, 7],
    "spec.ports[0].targetport",
    'Write "targetPort"',
  ),
  unknown(
    "label of a Service",
    SERVICE.replace("  name: web\n", "  name: web\n  label: {}\n"),
    [5, 3],
    "metadata.label",
    'Write "labels"',
  ),
  unknown(
    "redy of an EndpointSlice",
    SLICE.replace("ready", "redy"),
    [9, 7],
    "endpoints[0].conditions.redy",
    'Write "ready"',
  ),
  unknown("dta of a Secret", `${SECRET}dta: {}\n`, [7, 1], "dta", 'Write "data"'),
  unknown(
    "a class of an IngressClass",
    `${CLASS}  class: a\n`,
    [7, 3],
    "spec.class",
    "Remove it",
  ),
  unknown(
    "labels beside the metadata of a Namespace",
    `${NAMESPACE}labels: {}\n`,
    [5, 1],
    "labels",
    "Move it to metadata.labels",
  ),
  {
    name: "a boolean in an annotation",
    text: INGRESS.replace('"b"', "true"),
    expected: [
      6,
      5,
      'metadata.annotations["example.com/a"]',
      "ValueNotString",
      'Quote the value: "true"',
    ],
  },
  {
    name: "a number in a label",
    text: SERVICE.replace("  name: web\n", "  name: web\n  labels:\n    version: 5\n"),
    expected: [6, 5, "metadata.labels.version", "ValueNotString", 'Quote the value: "5"'],
  },
  {
    name: "a list in an annotation",
    text: INGRESS.replace('"b"', "[b]"),
    expected: [
      6,
      5,
      'metadata.annotations["example.com/a"]',
      "ValueNotString",
      "Write the value as one string",
    ],
  },
  {
    name: "a boolean in a selector",
    text: SERVICE.replace("app: web", "app: true"),
    expected: [7, 5, "spec.selector.app", "ValueNotString", "Quote the value"],
  },
  {
    name: "a number in a Secret, which is not shown",
    text: SECRET.replace("a: b", "a: 271828"),
    expected: [6, 3, "stringData.a", "ValueNotString", "Quote the value"],
  },
  {
    name: "two classes that differ",
    text: INGRESS.replace('example.com/a: "b"', "kubernetes.io/ingress.class: nginx") +
      "  ingressClassName: pingress\n",
    expected: [
      6,
      5,
      'metadata.annotations["kubernetes.io/ingress.class"]',
      "ClassesDiffer",
      "Remove the annotation",
    ],
  },
];
