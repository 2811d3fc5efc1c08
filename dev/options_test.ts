import assert from "node:assert/strict";
import { parseExplainOptions } from "../cli/explain/options.ts";
import { parseDevOptions } from "./options.ts";

Deno.test("without arguments the examples are served on this machine only", () => {
  const parsed = parseDevOptions([]);
  assert.equal(parsed.kind, "ok");
  if (parsed.kind !== "ok") return;
  const { paths, listenHttp, admin } = parsed.options;
  assert.deepEqual(paths, ["examples"]);
  assert.deepEqual(listenHttp, [{ hostname: "127.0.0.1", port: 8080 }]);
  assert.deepEqual(admin, { hostname: "127.0.0.1", port: 9090 });
});

Deno.test("flags that affect the configuration are the same in both programs", () => {
  const flags = [
    "--ingress-class=nginx",
    "--ingress-class=other",
    "--map=default/web:http=127.0.0.1:3000",
    "--allow-external-name",
    "--default-backend=default/web:80",
    "--nginx-class=legacy",
  ];
  const dev = parseDevOptions(["a", ...flags]);
  const explain = parseExplainOptions(["a", "b.yaml", "http://x/", ...flags]);
  if (dev.kind !== "ok" || explain.kind !== "ok") throw new Error("not parsed");
  assert.deepEqual(explain.options.plan, dev.options.plan);
  assert.deepEqual(explain.options.paths, ["a", "b.yaml"]);
  assert.deepEqual(explain.options.requests.map(({ url }) => url.host), ["x"]);
  const { ingressClasses, mappings, allowExternalName, defaultBackend } = dev.options.plan;
  assert.deepEqual(ingressClasses, ["nginx", "other"]);
  assert.deepEqual(dev.options.plan.nginxClasses, ["legacy"]);
  assert.equal(mappings[0].port, "http");
  assert.equal(allowExternalName, true);
  assert.deepEqual(defaultBackend, { namespace: "default", name: "web", port: 80 });
});

Deno.test("an invalid value is reported with the allowed ones", () => {
  for (
    const [args, expected] of [
      [
        ["--map", "web=3000"],
        /NAMESPACE\/SERVICE=HOST:PORT, such as default\/web=127\.0\.0\.1:3000/,
      ],
      [["--map", "a/b=3000"], /and a port, such as a\/b=127\.0\.0\.1:3000/],
      [["--listen-http", "8081"], /write 127\.0\.0\.1:8081 for this machine, :8081 for all/],
      [["--bogus"], /^"--bogus" is an unknown flag\n.* --help lists the flags$/],
      [["--default-backend", "web:80"], /default\/web:80/],
      [["--default-backend", "default/web:99999"], /default\/web:80/],
      [["--ingress-class", "Not A Name"], /IngressClass/],
      [["--listen-range", "80"], /a range of up to 1024 ports/],
      [
        ["--listen-range=3000-3010", "--map=default/web=127.0.0.1:3000"],
        /--listen-range 3000-3010 contains 3000, the port of --map/,
      ],
      [["--listen-htp", "127.0.0.1:80"], /--listen-http/],
    ] as const
  ) {
    const parsed = parseDevOptions(args);
    assert.equal(parsed.kind, "error");
    if (parsed.kind === "error") assert.match(parsed.text, expected);
  }
});

Deno.test("ports of Gateways are beside those of programs that --map names", () => {
  const range = (...args: string[]) => {
    const parsed = parseDevOptions(args);
    return parsed.kind === "ok" ? parsed.options.plan.listenRange : parsed.text;
  };
  assert.deepEqual(range(), { from: 10_000, to: 10_255 });
  assert.deepEqual(range("--map=a/b=127.0.0.1:3000"), { from: 10_000, to: 10_255 });
  assert.deepEqual(range("--map=a/b=127.0.0.1:10001"), { from: 10_256, to: 10_511 });
  assert.deepEqual(range("--listen-range=3000-3010"), { from: 3000, to: 3010 });
});
