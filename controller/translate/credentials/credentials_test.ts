import assert from "node:assert/strict";
import { keptValues } from "../../base/secret_values.ts";
import type { Credentials } from "../../../shared/snapshot/types.ts";
import { ProblemList } from "../../base/problems.ts";
import { readSecret, type SecretModel } from "../certificates/certificate_source.ts";
import { readIdentity } from "../../base/identity.ts";
import { NO_WWW } from "../model/other_name.ts";
import type { Source } from "../model/source.ts";
import { CredentialsReader } from "./credentials.ts";

const LINE = "ann:{PLAIN}secret-password\n";

function sourceOf(namespace: string, secret: string, kind = "auth-file"): Source {
  const filters = [{
    kind: "access",
    basic: { credentials: `${namespace}/${secret} ${kind}`, realm: "" },
  }];
  const identity = readIdentity("Ingress", { metadata: { namespace, name: `of-${secret}` } });
  return {
    identity,
    settings: { filterSet: { id: "f", filters } },
    rules: [],
    regex: null,
    wwwSettings: NO_WWW,
  } as unknown as Source;
}

function secretOf(
  namespace: string,
  name: string,
  auth: string,
  type = "Opaque",
  resourceVersion = "1",
): SecretModel {
  return readSecret({
    metadata: { namespace, name, resourceVersion },
    type,
    stringData: { auth },
  })!;
}

/** Ids of those that can be used, and problems. */
function read(
  reader: CredentialsReader,
  sources: readonly Source[],
  secrets: readonly SecretModel[],
  published: readonly Credentials[] = [],
) {
  const problems = new ProblemList();
  const list = reader.read(
    sources,
    new Map(secrets.map((secret) => [secret.identity.key, secret])),
    problems,
    published,
  );
  return {
    list,
    usable: list.filter(({ users }) => users.kind === "secret").map(({ id }) => id),
    problems: problems.sorted(),
  };
}

const KIB = 1024;

/** Of `sizes` Secrets of namespace `a`, in KiB by name, those whose users are served. */
interface Step {
  readonly sizes: Readonly<Record<string, number>>;
  readonly usable: readonly string[];
}

function fileOf(kib: number): string {
  return LINE.repeat(Math.floor(kib * KIB / LINE.length));
}

const STEPS: readonly [name: string, steps: readonly Step[]][] = [
  ["a file that is added beyond the bound is refused, and the others stay", [
    { sizes: { z: 200 }, usable: ["z"] },
    { sizes: { a: 100, z: 200 }, usable: ["z"] },
    { sizes: { a: 100, b: 50, z: 200 }, usable: ["b", "z"] },
    { sizes: { a: 100, b: 50 }, usable: ["a", "b"] },
    { sizes: { a: 100, b: 50, z: 200 }, usable: ["a", "b"] },
  ]],
  ["a served file that grows beyond the bound is refused, and the others stay", [
    { sizes: { a: 100, b: 100 }, usable: ["a", "b"] },
    { sizes: { a: 200, b: 100 }, usable: ["b"] },
    { sizes: { a: 200, b: 101 }, usable: ["b"] },
    { sizes: { a: 150, b: 101 }, usable: ["a", "b"] },
  ]],
  ["of files that are all new the smaller ones are served", [
    { sizes: { a: 130, b: 131, c: 10 }, usable: ["a", "c"] },
  ]],
  ["of new files of one size the first by name is served", [
    { sizes: { b: 130, a: 130 }, usable: ["a"] },
  ]],
];

for (const [name, steps] of STEPS) {
  Deno.test(name, () => {
    const reader = new CredentialsReader();
    let version = 0;
    let known: Record<string, SecretModel> = {};
    let before: Step["sizes"] = {};
    let published: readonly Credentials[] = [];
    for (const { sizes, usable } of steps) {
      const names = Object.keys(sizes);
      known = Object.fromEntries(names.map((name) => [
        name,
        sizes[name] === before[name]
          ? known[name]
          : secretOf("a", name, fileOf(sizes[name]), "Opaque", `${++version}`),
      ]));
      before = sizes;
      const sources = [...names, "other"].map((name) =>
        sourceOf(name === "other" ? "b" : "a", name)
      );
      const secrets = [...Object.values(known), secretOf("b", "other", LINE)];
      const result = read(reader, sources, secrets, published);
      published = result.list;
      assert.deepEqual(result.usable, [
        ...usable.map((name) => `a/${name} auth-file`),
        "b/other auth-file",
      ]);
      const refused = names.filter((name) => !usable.includes(name));
      assert.deepEqual(
        result.problems.map(({ object, severity }) => [object.name, severity]),
        refused.sort().map((name) => [`of-${name}`, "error"]),
      );
      for (const { message, remedy } of result.problems) {
        assert.match(
          message,
          /the password files of namespace a would have more than 262144 bytes, so/,
        );
        assert.match(remedy, /^Remove users from Secret a\/\w, .* 262144 bytes in all$/);
      }
      assert.doesNotMatch(JSON.stringify(result.problems), /secret-password/);
    }
  });
}

Deno.test("a controller that starts serves the files that were published first", () => {
  const [a, z] = [secretOf("a", "a", fileOf(100)), secretOf("a", "z", fileOf(200))];
  const sources = [sourceOf("a", "a"), sourceOf("a", "z")];
  const { list } = read(new CredentialsReader(), sources.slice(1), [z]);
  const { usable } = read(new CredentialsReader(), sources, [a, z], list);
  assert.deepEqual(usable, ["a/z auth-file"]);
  assert.deepEqual(read(new CredentialsReader(), sources, [a, z]).usable, ["a/a auth-file"]);
});

Deno.test("where all passwords are too many, files that were served and small ones stay", () => {
  const many = fileOf(250);
  const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
  const sources = [...names, "small"].map((name) => sourceOf(name, "users"));
  const secrets = names.map((name) => secretOf(name, "users", many));
  secrets.push(secretOf("small", "users", LINE));
  const reader = new CredentialsReader();
  const last = read(reader, sources.slice(10, 20), secrets);
  assert.equal(last.usable.length, 10);
  const { usable, problems } = read(reader, sources, secrets, last.list);
  assert.deepEqual(usable, [...last.usable, "small/users auth-file"]);
  assert.match(problems[0].message, /the password files of all namespaces .* 2621440 bytes/);
  assert.match(problems[0].remedy, /^Remove users from Secret n0\/users, .* 2621440 bytes/);
});

/** A value of the key `auth`, or all of `data`; what the problem says, and what helps. */
const UNUSABLE: readonly [
  name: string,
  data: Readonly<Record<string, string>>,
  kind: "auth-file" | "auth-map",
  message: RegExp,
  remedy: RegExp,
][] = [
  ["a key without a value", { auth: "" }, "auth-file", /: its key auth is empty,/, /^Store an htp/],
  ["no key", { other: "x" }, "auth-file", /: it has no auth,/, /^Store an htpasswd file as the/],
  [
    "a file that is too large",
    { auth: fileOf(300) },
    "auth-file",
    /: (?:auth|it) .*262144 bytes/,
    /^Remove users from Secret a\/users, .* 262144 bytes/,
  ],
  [
    "a map that is too large",
    { ann: "x".repeat(300 * KIB) },
    "auth-map",
    /: its values are too large: .*262144 bytes/,
    /^Remove users from Secret a\/users, .* 262144 bytes/,
  ],
];

for (const [name, values, kind, message, remedy] of UNUSABLE) {
  for (const field of ["data", "stringData"] as const) {
    Deno.test(`the problem of a Secret with ${name} in ${field} says what helps`, () => {
      const object = Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, field === "data" ? btoa(value) : value]),
      );
      const secret = readSecret({
        metadata: { namespace: "a", name: "users", resourceVersion: "1" },
        // As `reduce.ts` keeps them of what the API server sends.
        ...(field === "data" ? keptValues("Opaque", object) : { stringData: object }),
      })!;
      const { problems } = read(new CredentialsReader(), [sourceOf("a", "users", kind)], [secret]);
      assert.equal(problems.length, 1);
      assert.match(problems[0].message, message);
      assert.match(problems[0].remedy, remedy);
    });
  }
}

Deno.test("Secrets of the API's own types are not used, and a list without a change is the same", () => {
  const reader = new CredentialsReader();
  const sources = [sourceOf("a", "one"), sourceOf("a", "two")];
  const one = secretOf("a", "one", LINE);
  const first = read(reader, sources, [one, secretOf("a", "two", LINE, "kubernetes.io/tls")]);
  assert.deepEqual(first.usable, ["a/one auth-file"]);
  assert.match(first.problems[0].message, /of type "kubernetes.io\/tls"/);
  const again = read(reader, sources, [one, secretOf("a", "two", LINE, "kubernetes.io/tls")]);
  assert.equal(again.list, first.list);
  const other = read(reader, sources.slice(1), [one]);
  assert.deepEqual(other.list, [{ id: "a/two auth-file", users: { kind: "missing" } }]);
});
