import assert from "node:assert/strict";
import { parseExplainOptions } from "./options.ts";

function parsed(...args: string[]) {
  const result = parseExplainOptions(args);
  return result.kind === "ok" ? result.options : result.text;
}

Deno.test("explain accepts a method and headers like curl, and defaults to GET without headers", () => {
  const explain = (...flags: string[]) => {
    const options = parsed("a", "http://x/", ...flags);
    if (typeof options === "string") return options;
    return { method: options.requests[0].method, headers: options.headers };
  };
  assert.deepEqual(explain(), { method: "GET", headers: [] });
  const given = { method: "POST", headers: [["X-Beta", "yes"], ["A", "b: c"]] };
  assert.deepEqual(explain("--method=POST", "--header", "X-Beta: yes", "--header=A:b: c"), given);
  assert.deepEqual(explain("--method=POST", "-H", "X-Beta: yes", "-H=A:b: c"), given);
  assert.match(String(explain("--method", "a b")), /--method.*a method such as POST/s);
  assert.match(String(explain("--header", "X-Beta")), /--header.*of the form 'X-Beta: yes'/s);
});

Deno.test("explain takes a header Host for the host of each URL, as curl does", () => {
  const options = parsed("dir", "http://127.0.0.1:8080/x", "-H", "host: A.test", "-H", "A: b");
  if (typeof options === "string") throw new Error(options);
  const [{ url: { scheme, host, port, rawPath } }] = options.requests;
  assert.deepEqual([scheme, host, port, rawPath], ["http", "a.test", null, "/x"]);
  assert.deepEqual(options.headers, [["A", "b"]]);
  assert.match(String(parsed("dir", "http://a/", "-H", "Host: a/b")), /'Host: a\/b' names no host/);
});

/** Arguments, folders, and `METHOD scheme host port path` of each URL. */
const TARGETS: readonly (readonly [args: string, paths: string, requests: readonly string[]])[] = [
  ["http://a/x", "examples", ["GET http a - /x"]],
  ["a.test/x", "examples", ["GET http a.test - /x"]],
  ["dir https://a/", "dir", ["GET https a - /"]],
  ["dir other.yaml a.test", "dir other.yaml", ["GET http a.test - /"]],
  ["dir http://a/ wss://b:8443/ws", "dir", ["GET http a - /", "GET https b 8443 /ws"]],
  ["-f dir a.test b.test/x", "dir", ["GET http a.test - /", "GET http b.test - /x"]],
  ["-f dir -f more ws://a/", "dir more", ["GET http a - /"]],
  ["grpc://a/x.Y/Z", "examples", ["POST http a - /x.Y/Z"]],
  ["GRPCS://a/x.Y/Z", "examples", ["POST https a - /x.Y/Z"]],
  ["--method PUT grpcs://a/", "examples", ["PUT https a - /"]],
];

for (const [args, paths, requests] of TARGETS) {
  Deno.test(`explain ${args} reads ${paths}, and explains ${requests.length} URLs`, () => {
    const options = parsed(...args.split(" "));
    if (typeof options === "string") throw new Error(options);
    assert.equal(options.paths.join(" "), paths);
    const shown = options.requests.map(({ method, url: { scheme, host, port, rawPath } }) =>
      `${method} ${scheme} ${host} ${port ?? "-"} ${rawPath}`
    );
    assert.deepEqual(shown, requests);
  });
}

Deno.test("explain names each argument that is no URL", () => {
  const text = String(parsed("ftp://a/", "http://", "http://a b/"));
  for (const wrong of ["ftp://a/", "http://", "http://a b/"]) {
    assert.ok(text.includes(`${JSON.stringify(wrong)} is no URL`), text);
  }
  assert.match(text, /\npingress explain --help lists the flags$/);
  assert.match(String(parsed()), /needs \[DIR…\] URL…/);
});
