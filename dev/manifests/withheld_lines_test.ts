import assert from "node:assert/strict";
import { parseManifestFile } from "./file.ts";

/** The numbers of lines that are shown. */
function shownLines(text: string): number[] {
  const file = parseManifestFile("a.yaml", text);
  return text.split("\n").flatMap((content, i) =>
    content.trim() !== "" && file.excerptAt(
          { file: "a.yaml", line: i + 1, column: content.search(/\S/) + 1 },
        ) !== null
      ? [i + 1]
      : []
  );
}

/** Each line that must be hidden has this word. */
function checkHidden(name: string, text: string): void {
  Deno.test(`${name} shows no line with a credential`, () => {
    const shown = new Set(shownLines(text));
    text.split("\n").forEach((line, i) => {
      if (line.includes("hunter2")) assert.ok(!shown.has(i + 1), line);
    });
  });
}

checkHidden(
  "a Secret",
  `apiVersion: v1
kind: Secret
metadata:
  name: db
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data":"hunter2"}'
stringData:
  user: hunter2
  key: |
    hunter2
    more of hunter2
  "quoted": "hunter2"
data: { a: hunter2 }
other: hunter2
`,
);
checkHidden(
  "a list with a Secret",
  `kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: { name: a }\n  data:\n    a: hunter2\n`,
);
checkHidden(
  "a SecretList",
  `kind: SecretList\napiVersion: v1\nitems:\n- metadata: { name: a }\n  data:\n    a: hunter2\n`,
);
checkHidden(
  "JSON on one line",
  `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"a":"hunter2"}}`,
);
checkHidden(
  "a ConfigMap",
  `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata:\n  a: hunter2\n`,
);
checkHidden(
  "a Deployment",
  `apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: a }\nspec:\n  env:\n  - name: PASSWORD\n    value: hunter2\n`,
);
checkHidden(
  "an Ingress",
  `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a # hunter2
  annotations:
    nginx.ingress.kubernetes.io/configuration-snippet: |
      proxy_set_header Authorization "hunter2";
    nginx.ingress.kubernetes.io/auth-url: http://a:hunter2@b/
    nginx.ingress.kubernetes.io/auth-snipet: hunter2
    example.com/token: hunter2
    kubectl.kubernetes.io/last-applied-configuration: |
      {"hunter2": 1}
spec:
  password: hunter2
`.replace(" # hunter2", ""),
);
checkHidden(
  "an HTTPRoute",
  `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: a }
spec:
  rules:
    - matches:
        - headers:
            - name: X-Key
              value: hunter2
      filters:
        - type: RequestHeaderModifier
          requestHeaderModifier:
            set:
              - name: Authorization
                value: Bearer hunter2
`,
);
checkHidden(
  "a Secret that does not parse",
  `apiVersion: v1\nkind: Secret\nstringData:\n  a: b: hunter2\n`,
);
checkHidden(
  "a Secret after a quote that does not end",
  `apiVersion: v1\nkind: Service\nmetadata:\n  name: "a\n---\nkind: Secret\nstringData:\n  a: hunter2\n`,
);
checkHidden("a text without a kind that does not parse", `a: b: hunter2\n`);
checkHidden(
  "an Ingress with a snippet that does not parse",
  `kind: Ingress\nmetadata:\n  annotations:\n    nginx.ingress.kubernetes.io/server-snippet: |\n  add_header X hunter2: b: c;\n`,
);
checkHidden(
  "an Ingress with annotations that does not parse",
  `kind: Ingress\nmetadata:\n  annotations:\n    example.com/a: b: hunter2\n    example.com/b: "hunter2"\nspec:\n  password: hunter2\n`,
);

Deno.test("lines of an Ingress without credentials are shown, those beside a comment without it", () => {
  const text = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a # hunter2
  annotations:
    nginx.ingress.kubernetes.io/rewrite-targt: /
    kubernetes.io/ingress.class: nginx
    pingress.io/share-host-with: b
spec:
  tls: [{ secretName: a }]
  rules:
    - host: a.example.com
`;
  assert.deepEqual(shownLines(text), Array.from({ length: 12 }, (_, i) => i + 1));
  const excerpt = parseManifestFile("a.yaml", text)
    .excerptAt({ file: "a.yaml", line: 4, column: 3 });
  assert.deepEqual(excerpt, { line: 4, text: "  name: a", column: 3, length: 4 });
});
