/** `pingress explain` of folders, as a process. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { EXAMPLES, manifest, spawn, withFolder } from "../support/dev_process.ts";

interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function explain(...args: readonly string[]): Promise<Output> {
  const { code, stdout, stderr } = await spawn("pingress", ["explain", ...args]).output();
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: decode(stdout), err: decode(stderr) };
}

Deno.test("several URLs get a line each, in their order, with --short", async () => {
  const { code, out, err } = await explain(
    ...["-f", EXAMPLES, "--short"],
    ...["https://app.example.com/api/x", "wss://app.example.com/socket"],
    ...["grpcs://grpc.example.com/x.Y/Z", "http://app.example.com/%zz"],
  );
  assert.equal(code, 1, err);
  const lines = out.trimEnd().split("\n");
  assert.equal(lines.length, 4);
  assert.match(
    lines[0],
    /^https:\/\/app\.example\.com\/api\/x → default\/api:rest \(10\.1\.0\.21:8000\) \S*3-app\.yaml:\d+$/,
  );
  assert.match(lines[1], /^https:\/\/app\.example\.com\/socket → default\/web:80 \(/);
  assert.match(lines[2], /^https:\/\/grpc\.example\.com\/x\.Y\/Z → default\/greeter:grpc \(/);
  assert.match(lines[3], /^http:\/\/app\.example\.com\/%zz → 400: /);
});

Deno.test("each of several URLs has a block of text, and JSON has an entry each", async () => {
  const urls = ["https://app.example.com/api", "http://app.example.com/"];
  const { code, out } = await explain(EXAMPLES, ...urls);
  assert.equal(code, 0, out);
  for (const url of urls) assert.match(out, new RegExp(`^${url.replaceAll(".", "\\.")}$`, "m"));
  const json = await explain(EXAMPLES, ...urls, "-o", "json");
  const { v, explanations } = JSON.parse(json.out);
  assert.equal(v, 1);
  assert.deepEqual(explanations.map(({ url }: { url: string }) => url), urls);
});

Deno.test("the exit code is 0 for a redirect, 1 for an error of the proxy's own for any URL", async () => {
  const redirect = manifest("a.test").replace(
    "name: app",
    'name: app, annotations: { nginx.ingress.kubernetes.io/permanent-redirect: "https://b.test" }',
  );
  await withFolder({ "a.yaml": redirect }, async (folder) => {
    const one = await explain("-f", folder, "--short", "http://a.test/");
    assert.deepEqual([one.code, one.out.split(" → ")[1].split(" a.yaml")[0].split(" /")[0]], [
      0,
      "301 https://b.test",
    ]);
    const two = await explain("-f", folder, "--short", "http://a.test/", "http://gone.test/");
    assert.equal(two.code, 1);
    assert.match(two.out, /^http:\/\/gone\.test\/ → 404: no route matches/m);
  });
});

Deno.test("the exit code is 1 for a share of requests that gets 500", async () => {
  const text = `apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: web }
spec: { gatewayClassName: pingress, listeners: [{ name: http, port: 80, protocol: HTTP }] }
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: web }
spec:
  parentRefs: [{ name: web }]
  hostnames: [a.test]
  rules:
    - backendRefs: [{ name: web, port: 80, weight: 3 }, { name: gone, port: 80, weight: 1 }]
`;
  await withFolder({ "a.yaml": text }, async (folder) => {
    const { code, out } = await explain("-f", folder, "--short", "http://a.test/");
    assert.match(out, /default\/web:80 75% or 500 25%/);
    assert.equal(code, 1);
  });
});

Deno.test("losers beyond the first five are counted, and listed with --all", async () => {
  const paths = Array.from({ length: 50 }, (_, i) => `/p${i}`);
  const text = manifest("a.test");
  const [line] = /^ {10}- path: \/\n.*\n.*\n/m.exec(text)!;
  const many = text.replace(
    line,
    paths.map((path) => line.replace("path: /", `path: ${path}`)).join(""),
  );
  await withFolder({ "a.yaml": many }, async (folder) => {
    const folded = await explain("-f", folder, "http://a.test/p7");
    assert.match(folded.out, /\n {2}and 44 more; --all lists them\n/);
    assert.equal(folded.out.match(/lost because/g)?.length, 5);
    const all = await explain("-f", folder, "http://a.test/p7", "--all");
    assert.equal(all.out.match(/lost because/g)?.length, 49);
    assert.doesNotMatch(all.out, /--all lists them/);
  });
});

Deno.test("control characters of URLs, headers and manifests are escaped in every format", async () => {
  const hostile = manifest("a.test").replace("path: /", 'path: "/\\u001b[31m\\u009b\\u202e"');
  await withFolder({ "a.yaml": hostile }, async (folder) => {
    const target = "http://a.test/\u001b[31m?\u009b";
    for (const flags of [[], ["--short"], ["-o", "json"]]) {
      const { out, err } = await explain("-f", folder, target, ...flags, "-H", "X: \u001b[31m");
      // deno-lint-ignore no-control-regex
      assert.doesNotMatch(out + err, /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/, flags.join(" "));
    }
    const { code, err } = await explain("-f", folder, "http://\u001b[31m/");
    assert.equal(code, 2);
    assert.match(err, /^"http:\/\/\\u001b\[31m\/" is no URL/m);
  });
});

Deno.test("a closed pipe ends explain", async () => {
  const child = spawn("pingress", ["explain", EXAMPLES, "https://app.example.com/api"]);
  await child.stdout.cancel();
  const [{ code }] = await Promise.all([child.status, child.stderr.cancel()]);
  assert.equal(code, 141);
});

Deno.test("a folder in place of a URL, and a folder that is missing, are named", async () => {
  const none = await explain("-f", join(EXAMPLES, "no-such"), "http://a/");
  assert.equal(none.code, 2);
  assert.match(none.err, /^There is no file or folder \S*no-such; name one/m);
  const host = await explain("--short", "https://a.test/", "app.example.com/x", "https://b.test/");
  assert.equal(host.code, 2);
  assert.match(host.err, /^If it is a URL, write http:\/\/app\.example\.com\/x$/m);
  const kubeconfig = await explain("-f", EXAMPLES, "--kubeconfig", "x", "http://a.test/");
  assert.equal(kubeconfig.code, 2);
  assert.match(kubeconfig.err, /^--kubeconfig needs --cluster, --context or --proxy$/m);
  const url = await explain(EXAMPLES);
  assert.equal(url.code, 2);
  assert.match(url.err, /is no URL like https:\/\/app\.example\.com\/path/);
});

Deno.test("an Ingress whose kind is misspelt is named for its host, with --short on standard error", async () => {
  const misspelt = manifest("a.test").replace("kind: Ingress", "kind: Ingres");
  await withFolder({ "a.yaml": misspelt }, async (folder) => {
    const { code, out } = await explain("-f", folder, "http://a.test/");
    assert.equal(code, 1);
    assert.match(out, /^ {2}error {2}KindUnknown /m);
    const short = await explain("-f", folder, "--short", "http://a.test/");
    assert.equal(short.out.trim().split("\n").length, 1);
    assert.match(
      short.err,
      /^ {2}perhaps as KindUnknown \(\S*a\.yaml:\d+:\d+\): there is no kind Ingres/,
    );
    const other = await explain("-f", folder, "http://b.test/");
    assert.doesNotMatch(other.out, /KindUnknown/);
  });
});

for (
  const [name, files, message] of [
    [
      "whose only file does not parse",
      { "a.yaml": "kind: [\n" },
      /a\.yaml:1:7: .* does not end; write/,
    ],
    ["without a file of YAML", { "a.txt": "" }, /^no file in .* ends with \.yaml/],
    ["without an object", { "a.yaml": "# nothing\n" }, /^the only file in .* has no object/],
  ] as const
) {
  Deno.test(`of a folder ${name}, explain says that nothing is read, with exit code 2`, async () => {
    await withFolder(files, async (folder) => {
      const { code, out, err } = await explain("-f", folder, "--short", "http://a.test/");
      assert.deepEqual([code, out], [2, ""]);
      assert.match(err, message);
    });
  });
}

Deno.test("- and /dev/stdin are not read, and explain, lint and diff say what to do instead", async () => {
  for (const path of ["-", "/dev/stdin", "/dev/fd/0"]) {
    for (
      const args of [
        ["explain", "-f", path, "http://a.test/"],
        ["lint", path],
        ["diff", "-f", path, "--against", EXAMPLES],
      ]
    ) {
      const { code, stderr } = await spawn("pingress", args).output();
      const err = new TextDecoder().decode(stderr);
      assert.equal(code, 2, `${args}: ${err}`);
      assert.match(
        err,
        /^Standard input \(\S+\) is not read; write it to a file, and name that: helm/m,
      );
    }
  }
});
