import assert from "node:assert/strict";
import { ProblemList } from "../../base/problems.ts";
import { readSecret, type SecretModel } from "../certificates/certificate_source.ts";
import { readIdentity } from "../../base/identity.ts";
import { NO_WWW } from "../model/other_name.ts";
import type { Source } from "../model/source.ts";
import { CredentialsReader } from "./credentials.ts";

const LINE = "ann:{PLAIN}secret-password\n";

function sourceOf(namespace: string, secret: string): Source {
  const filters = [{
    kind: "access",
    basic: { credentials: `${namespace}/${secret} auth-file`, realm: "" },
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

function secretOf(namespace: string, name: string, auth: string, type = "Opaque"): SecretModel {
  return readSecret({
    metadata: { namespace, name, resourceVersion: "1" },
    type,
    stringData: { auth },
  })!;
}

/** Ids of those that can be used, and problems. */
function read(
  reader: CredentialsReader,
  sources: readonly Source[],
  secrets: readonly SecretModel[],
) {
  const problems = new ProblemList();
  const list = reader.read(
    sources,
    new Map(secrets.map((secret) => [secret.identity.key, secret])),
    problems,
  );
  return {
    list,
    usable: list.filter(({ users }) => users.kind === "secret").map(({ id }) => id),
    problems: problems.sorted(),
  };
}

Deno.test("a namespace with too many passwords loses them, and no other one does", () => {
  const many = LINE.repeat(Math.ceil(130 * 1024 / LINE.length));
  const sources = [sourceOf("a", "one"), sourceOf("a", "two"), sourceOf("b", "one")];
  const secrets = [
    secretOf("a", "one", many),
    secretOf("a", "two", many),
    secretOf("b", "one", many),
  ];
  const { usable, problems } = read(new CredentialsReader(), sources, secrets);
  assert.deepEqual(usable, ["b/one auth-file"]);
  assert.deepEqual(problems.map(({ object, severity }) => [object.namespace, severity]), [
    ["a", "error"],
    ["a", "error"],
  ]);
  assert.doesNotMatch(JSON.stringify(problems), /secret-password/);
});

Deno.test("where all passwords are too many, the largest namespaces lose them", () => {
  const many = LINE.repeat(Math.floor(250 * 1024 / LINE.length));
  const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
  const sources = [...names, "small"].map((name) => sourceOf(name, "users"));
  const secrets = names.map((name) => secretOf(name, "users", many));
  secrets.push(secretOf("small", "users", LINE));
  const { usable } = read(new CredentialsReader(), sources, secrets);
  assert.equal(usable.length, 11);
  assert.ok(usable.includes("small/users auth-file"));
});

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
