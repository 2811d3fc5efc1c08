/** Fields that are unknown or of a wrong type, and classes and annotations that are misspelt. In: nothing. Out: a table. */
import {
  annotated,
  beside,
  type BrokenInput,
  changed,
  INGRESS,
  ofIngress,
  ofService,
  SERVICE,
} from "./input.ts";

const NGINX = "nginx.ingress.kubernetes.io";

function onService(name: string, annotation: string): BrokenInput {
  return ofService(name, "  name: web\n", `  name: web\n  annotations:\n    ${annotation}\n`);
}

const NGINX_CLASS = `apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata:
  name: nginx
  annotations:
    ingressclass.kubernetes.io/is-default-class: "true"
spec:
  controller: k8s.io/ingress-nginx
`;

export const FIELDS: readonly BrokenInput[] = [
  ofIngress("ingresClassName", "ingressClassName", "ingresClassName"),
  ofIngress("ingressClass", "ingressClassName", "ingressClass"),
  ofIngress("rule", "rules:", "rule:"),
  ofIngress("bakend", "backend:", "bakend:"),
  ofIngress("pathTyp", "pathType", "pathTyp"),
  ofIngress("metdata", "metadata:", "metdata:"),
  ofIngress(
    "servicePort beside service",
    "              service:",
    "              servicePort: 80\n              service:",
  ),
  ofIngress("an unknown field", "spec:\n", "spec:\n  foo: bar\n"),
  ofIngress("spec under metadata", "spec:\n", "  spec:\n"),
  ofIngress(
    "an annotation among the labels",
    "  name: web\n",
    "  name: web\n  labels:\n    nginx.ingress.kubernetes.io/auth-secret: users\n",
  ),
  ofIngress("spec without its line", "spec:\n", ""),
  ofIngress("paths beside host", "      http:\n        paths:", "      paths:"),
  ofService("targetport", "port: 80", "port: 80\n      targetport: 8080"),
  ofService("a type of Service in other letters", "spec:", "spec:\n  type: ClusterIp"),
  ofService("a protocol that does not exist", "port: 80", "port: 80\n      protocol: HTTP"),
  ofService("a port that is too large", "port: 80", "port: 80\n      targetPort: 99999"),
  ofService("a port in quotes", "port: 80", 'port: "80"'),
  ofIngress("a number in quotes", "number: 80", 'number: "80"'),
  ofIngress("a host that is a number", "app.example.com", "8080"),
  ofIngress(
    "rules that are a map",
    "    - host: app.example.com\n      http:",
    "      host: app.example.com\n      http:",
  ),
  ofIngress("a backend that is a text", /backend:\n[^]*$/, "backend: web\n"),
  annotated("a boolean in an annotation", `${NGINX}/ssl-redirect: true`),
  annotated("an annotation that is on, which is a boolean for kubectl", `${NGINX}/enable-cors: on`),
  onService("a version that is a number", "example.com/version: 1.10"),
  annotated("class and class annotation", "kubernetes.io/ingress.class: nginx"),
  ofIngress("a misspelt class", "ingressClassName: pingress", "ingressClassName: pingres"),
  ofIngress("the class of ingress-nginx", "ingressClassName: pingress", "ingressClassName: nginx"),
  ofIngress(
    "the class of another controller",
    "ingressClassName: pingress",
    "ingressClassName: traefik",
  ),
  {
    name: "a default class that is not served",
    files: {
      "class.yaml": NGINX_CLASS,
      "ing.yaml": changed(INGRESS, "  ingressClassName: pingress\n", ""),
      "svc.yaml": SERVICE,
    },
  },
  onService("a misspelt annotation of a Service", "pingress.io/balanse: least-requests"),
  onService(
    "an unknown annotation of TLS to a backend",
    "pingress.io/upstream-tls-hostname: db.example.com",
  ),
  onService("a misspelt annotation for dev", 'dev.pingress.io/endpont: "127.0.0.1:3000"'),
  onService("an unknown value of an annotation", "pingress.io/balance: fastest"),
  onService("a program on another machine", 'dev.pingress.io/endpoint: "192.0.2.1:3000"'),
  onService("an annotation of ingress-nginx on a Service", `${NGINX}/rewrite-target: /`),
  annotated("an annotation of a Service on an Ingress", "pingress.io/balance: least-requests"),
  annotated("a misspelt annotation of an Ingress", "pingress.io/share-hosts-with: team-b"),
  annotated("rewrite-targt", `${NGINX}/rewrite-targt: /`),
  annotated("an annotation that ingress-nginx does not have", `${NGINX}/brew-coffee: "true"`),
  annotated(
    "the prefix of ingress-nginx before 2018",
    'ingress.kubernetes.io/ssl-redirect: "true"',
  ),
  annotated("an annotation that protects and is not supported", `${NGINX}/limit-rps: "5"`),
  annotated("an invalid list of addresses", `${NGINX}/whitelist-source-range: 10.0.0.0/33`),
  annotated(
    "a snippet, of which nothing is shown",
    `${NGINX}/server-snippet: "return 403 hunter2;"`,
  ),
  annotated(
    "auth-url with a password, which is not shown",
    `${NGINX}/auth-url: "http://a:hunter2@auth.example.com/"`,
  ),
  annotated(
    "an annotation that protects, without the profile nginx",
    `${NGINX}/whitelist-source-range: 10.0.0.0/8`,
  ),
  {
    ...annotated(
      "auth-secret that is missing",
      `${NGINX}/auth-type: basic\n    ${NGINX}/auth-secret: users`,
    ),
    options: { nginxClasses: ["pingress"] },
  },
  {
    ...annotated("an annotation that needs nothing here", `${NGINX}/http2-push-preload: "true"`),
    needsNothing: true,
  },
  beside(
    "class.yaml",
    changed(NGINX_CLASS, /annotations:\n.*/, 'annotations:\n    pingress.io/profil: "nginx"'),
    "a misspelt annotation of an IngressClass",
  ),
  beside(
    "secret.yaml",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  pin: 271828\n",
    "a number in a Secret, which is not shown",
  ),
];
