import assert from "node:assert/strict";
import { reportNginxAnnotations } from "./annotations.ts";
import { NginxAnnotations } from "./nginx_annotations.ts";
import { BY_NAME, NGINX_PREFIX } from "./table.ts";
import { type GlobalSettings, NO_GLOBALS } from "../../model/global_settings.ts";
import { CUT_TEXT } from "../../../kube/excess.ts";
import { ProblemList } from "../../../base/problems.ts";

Deno.test("a flag that replaces an annotation is named with its default", () => {
  const table: [name: string, remedy: RegExp][] = [
    ["limit-connections", /--connections-per-address/],
    ["proxy-buffer-size", /--response-head-limit \(64 KiB\)/],
  ];
  for (const [name, remedy] of table) {
    const [problem] = problemsOf({ [NGINX_PREFIX + name]: "x" });
    assert.equal(problem.severity, "warning", name);
    assert.match(problem.remedy, remedy);
  }
});

Deno.test("the problem is at the annotation, whatever its value and name", () => {
  for (const value of ["x", 5, null, {}]) {
    const [{ field, message }] = problemsOf({ [`${NGINX_PREFIX}a"b\u001b`]: value });
    assert.equal(field, `metadata.annotations[${JSON.stringify(`${NGINX_PREFIX}a"b\u001b`)}]`);
    assert.ok(!message.includes("\u001b"));
    assert.match(message, /ingress-nginx does not document it/);
  }
});

Deno.test("other annotations have no problem, nor have annotations that are no object", () => {
  for (const annotations of [undefined, null, 5, ["x"], { "example.com/own": "x" }]) {
    assert.deepEqual(problemsOf(annotations), []);
  }
});

Deno.test("an annotation that adds to another one names it", () => {
  const burst = `${NGINX_PREFIX}limit-burst-multiplier`;
  const [alone] = problemsOf({ [burst]: "5" });
  assert.match(alone.message, /has no effect without limit-connections or limit-rps or limit-rpm$/);
  const [besideRate] = problemsOf({ [burst]: "5", [`${NGINX_PREFIX}limit-rpm`]: "5" });
  assert.match(besideRate.message, /as limit-rpm is not supported$/);
  assert.match(besideRate.remedy, /together with limit-rpm$/);
});

const ALONE: readonly (readonly [name: string, text: string, mains: string])[] = [
  ["auth-signin", "https://auth.example.com/start", "auth-url"],
  ["auth-signin-redirect-param", "rd", "auth-url"],
  ["auth-method", "POST", "auth-url"],
  ["auth-request-redirect", "https://app.example.com/", "auth-url"],
  ["auth-response-headers", "X-Auth-User", "auth-url"],
  ["auth-proxy-set-headers", "default/headers", "auth-url"],
  ["auth-always-set-cookie", "true", "auth-url"],
  ["auth-cache-key", "$cookie_session", "auth-url"],
  ["auth-cache-duration", "200 5m", "auth-url"],
  ["auth-realm", "Login", "auth-type"],
  ["auth-secret-type", "auth-map", "auth-type"],
  [
    "satisfy",
    "any",
    "allowlist-source-range or denylist-source-range or auth-type or auth-url",
  ],
];

for (const [name, text, mains] of ALONE) {
  Deno.test(`${name} alone is reported to have no effect`, () => {
    const [{ severity, field, message, remedy }, ...more] = problemsOf({
      [NGINX_PREFIX + name]: text,
      [`${NGINX_PREFIX}auth-url`]: "",
    });
    assert.deepEqual([severity, more], ["warning", []]);
    assert.equal(field, `metadata.annotations["${NGINX_PREFIX}${name}"]`);
    assert.equal(message, `annotation "${NGINX_PREFIX}${name}" has no effect without ${mains}`);
    const isSupported = name !== "auth-proxy-set-headers";
    const main = mains.includes(" ") ? "one of them" : mains;
    const write = isSupported ? `Write ${main}, or remove the annotation` : "Remove the annotation";
    assert.equal(remedy, write);
  });
}

Deno.test("an annotation that adds to another one that is there is not without it", () => {
  const known: readonly Readonly<Record<string, unknown>>[] = [
    { "auth-signin": "/start", "auth-url": CUT_TEXT },
    { "auth-signin": "/start", "auth-url": "https://auth.example.com/" },
    { "auth-realm": "Login", "auth-type": "basic" },
    ...["allowlist-source-range", "whitelist-source-range", "denylist-source-range"]
      .map((list) => ({ "satisfy": "any", [list]: "10.0.0.0/8" })),
    { "satisfy": "any", "auth-url": "https://auth.example.com/" },
    { "auth-signin": "" },
  ];
  for (const values of known) {
    const prefixed = Object.entries(values).map(([name, text]) => [NGINX_PREFIX + name, text]);
    const found = problemsOf(Object.fromEntries(prefixed));
    assert.ok(found.every(({ message }) => !message.includes("without")), JSON.stringify(values));
  }
});

Deno.test("settings of the ConfigMap are joined by satisfy, and are no auth-url for annotations beside it", () => {
  const written = { [`${NGINX_PREFIX}satisfy`]: "any", [`${NGINX_PREFIX}auth-method`]: "GET" };
  const ofUrl = { texts: new Map([["auth-url", "http://auth/"]]), isHostAssigned: false };
  const whitelist = new Map([["allowlist-source-range", "10.0.0.0/8"]]);
  const names = (globals: Partial<GlobalSettings>) =>
    problemsOf(written, globals).map(({ message }) => /\/(\S+)"/.exec(message)![1]);
  assert.deepEqual(names({ externalAuth: ofUrl }), ["auth-method"]);
  assert.deepEqual(names({ defaults: whitelist }), ["auth-method"]);
  assert.deepEqual(names({}), ["auth-method", "satisfy"]);
});

Deno.test("an alias beside its newer name is reported as without effect", () => {
  const found = problemsOf({
    [`${NGINX_PREFIX}allowlist-source-range`]: "0.0.0.0/0,::/0",
    [`${NGINX_PREFIX}whitelist-source-range`]: "10.0.0.0/8",
  });
  assert.deepEqual(found.map(({ message }) => /no effect beside/.test(message)), [true]);
});

function problemsOf(annotations: unknown, globals: Partial<GlobalSettings> = {}) {
  const problems = new ProblemList();
  const object = { kind: "Ingress", namespace: "default", name: "web" };
  const all = { ...NO_GLOBALS, ...globals };
  const read = new NginxAnnotations(annotations, undefined, BY_NAME, undefined, all.defaults);
  reportNginxAnnotations(read, new Set(), problems.about(object), all);
  return problems.sorted();
}
