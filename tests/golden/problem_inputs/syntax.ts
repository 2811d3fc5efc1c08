/** Texts that are no YAML, and bytes that are no text. In: nothing. Out: a table. */
import { beside, type BrokenInput, changed, INGRESS, ofIngress, SERVICE } from "./input.ts";

function ofText(name: string, text: string): BrokenInput {
  return { name, files: { "ing.yaml": text, "svc.yaml": SERVICE } };
}

function utf16(text: string): Uint8Array {
  return new Uint8Array([
    0xff,
    0xfe,
    ...[...text].flatMap((char) => [char.charCodeAt(0), 0]),
  ]);
}

/** A list of two aliases of the list before, and so on. */
function aliases(levels: number): string {
  const lists = Array.from(
    { length: levels },
    (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]\n`,
  );
  return `kind: ConfigMap\na0: &a0 [x]\n${lists.join("")}`;
}

const LATIN1 = "# Stra\u00dfe\n" + INGRESS;

export const SYNTAX: readonly BrokenInput[] = [
  ofIngress("a host that begins with a star", "app.example.com", "*.example.com"),
  ofIngress("a path that is a star", "path: /", "path: *"),
  ofIngress("a colon in a value", "  name: web\n", "  name: web: one\n"),
  ofIngress("a value that begins with @", "app.example.com", "@app"),
  ofIngress("a value that begins with a percent sign", "app.example.com", "%HOST%"),
  ofIngress("a tab as indentation", "    - host", "\t- host"),
  ofIngress("a tab inside a map", "  ingressClassName", "\tingressClassName"),
  ofIngress("a key without a colon", "pathType: Prefix", "pathType Prefix"),
  ofIngress(
    "no space after a colon",
    "name: web\n                port",
    "name:web\n                port",
  ),
  ofIngress("the first line without a colon", "apiVersion: ", "apiVersion "),
  ofIngress("a line that is indented too deep", "  rules:", "    rules:"),
  ofIngress("a line that is indented too little", "            pathType", "           pathType"),
  ofIngress("a backend in another column", "            backend:", "              backend:"),
  ofIngress("a quote that does not end", "host: app.example.com", 'host: "app.example.com'),
  ofIngress("a single quote that does not end", "path: /", "path: '/"),
  ofIngress("text after a quoted value", "host: app.example.com", 'host: "app".example.com'),
  ofIngress("a backslash in double quotes", "path: /", 'path: "/\\d+"'),
  ofIngress("a list that does not end", "host: app.example.com", "host: [app.example.com"),
  ofIngress("a list of maps that begins with a bracket and does not end", "rules:", "rules: ["),
  ofText(
    "a map that does not end",
    INGRESS.slice(0, INGRESS.indexOf("            backend")) +
      "            backend: { service: { name: web, port: { number: 80 } }\n",
  ),
  ofIngress(
    "the same key twice",
    "  ingressClassName: pingress\n",
    "  ingressClassName: pingress\n  ingressClassName: nginx\n",
  ),
  ofIngress("spec twice", "metadata:\n", "spec: {}\nmetadata:\n"),
  ofIngress("an item without a space after its dash", "- path: /", "-path: /"),
  ofText("two dashes between documents", `${INGRESS}--\n${SERVICE}`),
  ofText("aliases that grow without end", aliases(24)),
  ofText("lists that stand too deep in each other", `kind: ${"[".repeat(20_000)}`),
  ofText("JSON that is cut short", '{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",'),
  ofText(
    "a missing comma in JSON",
    '{\n  "apiVersion": "networking.k8s.io/v1"\n  "kind": "Ingress"\n}\n',
  ),
  ofIngress("a template of Helm", "host: app.example.com", "host: {{ .Values.host }}"),
  ofIngress("a merge conflict", "spec:\n", "<<<<<<< HEAD\nspec:\n"),
  beside("utf16.yaml", utf16(SERVICE), "UTF-16"),
  beside("program.yaml", Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0), "a program"),
  beside("latin1.yaml", Uint8Array.from(LATIN1, (char) => char.charCodeAt(0)), "Latin-1"),
  beside(
    "secret.yaml",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  password: hunter2: x\n",
    "a Secret, of which nothing is shown",
  ),
  ofText(
    "a snippet that is indented wrongly, of which nothing is shown",
    changed(
      INGRESS,
      "  name: web\n",
      '  name: web\n  annotations:\n    nginx.ingress.kubernetes.io/configuration-snippet: |\n  proxy_set_header X-Key "hunter2";\n',
    ),
  ),
];
