import assert from "node:assert/strict";
import { NGINX_PREFIX } from "../../controller/translate/annotations/nginx/table.ts";
import { lintTexts } from "../../tests/golden/lint_case.ts";
import type { Finding } from "./finding.ts";

/** The finding about the first of these annotations, of an Ingress that has all of them. */
function findingOf(annotations: Readonly<Record<string, string>>): Finding {
  const ingress = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name: "web",
      annotations: Object.fromEntries(
        Object.entries(annotations).map(([name, text]) => [NGINX_PREFIX + name, text]),
      ),
    },
    spec: {
      ingressClassName: "nginx",
      defaultBackend: { service: { name: "web", port: { number: 80 } } },
    },
  };
  const [name] = Object.keys(annotations);
  const { ingresses } = lintTexts({ "a.yaml": JSON.stringify(ingress) });
  return ingresses[0].findings.find(({ rule }) => rule === `annotation/${name}`)!;
}

/** Values that ask for what ingress-nginx does without them, beside others that do not. */
const DEFAULTS: readonly (readonly [annotations: Record<string, string>, verdict: string])[] = [
  ...[
    "service-upstream",
    "upstream-hash-by-subset",
    "enable-rewrite-log",
    "session-cookie-secure",
    "session-cookie-conditional-samesite-none",
    "session-cookie-partitioned",
    "session-cookie-change-on-failure",
    "enable-cors",
  ].flatMap((name) =>
    [
      [{ [name]: "false" }, "SAME"],
      [{ [name]: "False" }, "SAME"],
      [{ [name]: "true" }, "DIFFERS"],
    ] as const
  ),
  [{ "load-balance": "round_robin" }, "SAME"],
  [{ "load-balance": "ewma" }, "DIFFERS"],
  ...["proxy-redirect-from", "proxy-cookie-domain", "proxy-cookie-path"].flatMap((name) =>
    [
      [{ [name]: "off" }, "SAME"],
      [{ [name]: "a.test b.test" }, "DIFFERS"],
    ] as const
  ),
  [{ "proxy-redirect-from": "default" }, "DIFFERS"],
  [{ "mirror-request-body": "on" }, "SAME"],
  [{ "mirror-request-body": "off" }, "SAME"],
  [{ "mirror-host": "a.test" }, "SAME"],
  [{ "mirror-request-body": "on", "mirror-target": "https://a.test" }, "DIFFERS"],
  [{ "mirror-host": "a.test", "mirror-target": "https://a.test" }, "DIFFERS"],
  ...[
    ["cors-allow-origin", "*"],
    ["cors-allow-methods", "GET"],
    ["cors-allow-headers", "X-A"],
    ["cors-expose-headers", "X-A"],
    ["cors-allow-credentials", "true"],
    ["cors-max-age", "600"],
  ].flatMap(([name, text]) =>
    [
      [{ [name]: text }, "SAME"],
      [{ [name]: text, "enable-cors": "false" }, "SAME"],
      [{ [name]: text, "enable-cors": "on" }, "SAME"],
      [{ [name]: text, "enable-cors": "true" }, "DIFFERS"],
    ] as const
  ),
];

for (const [annotations, verdict] of DEFAULTS) {
  Deno.test(`${JSON.stringify(annotations)} is ${verdict}`, () => {
    assert.equal(findingOf(annotations).verdict, verdict);
  });
}

Deno.test("a warning about an annotation does not hide what differs for its value", () => {
  const http2 = /the backend may choose HTTP\/2/;
  const alone = findingOf({ "backend-protocol": "HTTPS" });
  assert.equal(alone.verdict, "DIFFERS");
  assert.match(alone.difference!, /not verified/);
  assert.match(alone.difference!, http2);
  assert.match(alone.remedy!, /proxy-ssl-verify/);
  const verified = findingOf({ "backend-protocol": "HTTPS", "proxy-ssl-verify": "on" });
  assert.equal(verified.verdict, "DIFFERS");
  assert.match(verified.difference!, http2);
});

Deno.test("a warning about a value that nothing differs for is SAME", () => {
  const { verdict, difference } = findingOf({ "backend-protocol": "GRPCS" });
  assert.equal(verdict, "SAME");
  assert.match(difference!, /not verified/);
});
