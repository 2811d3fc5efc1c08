/** Credential plugins of kubeconfigs: what is read of an entry, what a program is told, and what it may print. */
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type CredentialPlugin,
  execInfo,
  KNOWN_PROGRAMS,
  missingProgram,
  pluginOf,
  readExecCredential,
} from "./credential_plugin.ts";
import { pluginRights } from "./plugin_process.ts";

const ROOT = join(import.meta.dirname!, "../..");
const V1 = "client.authentication.k8s.io/v1";
const BETA = "client.authentication.k8s.io/v1beta1";
const NOW = Date.parse("2026-11-26T12:00:00Z");

const CLUSTER = {
  server: "https://10.0.0.1",
  "certificate-authority": "/home/me/.kube/ca.crt",
  "tls-server-name": "kubernetes",
  extensions: [{ name: "client.authentication.k8s.io/exec", extension: { audience: "a" } }],
};

function read(value: unknown) {
  return pluginOf({ value, cluster: CLUSTER }, (path) => new TextEncoder().encode(path));
}

function plugin(value: Readonly<Record<string, unknown>> = {}): CredentialPlugin {
  const reading = read({ apiVersion: BETA, command: "aws", ...value });
  assert.ok(reading.ok);
  return reading.plugin;
}

Deno.test("an entry of EKS and one of GKE are read as kubectl reads them", () => {
  assert.deepEqual(
    plugin({
      args: ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "dev"],
      env: [{ name: "AWS_PROFILE", value: "dev" }],
    }),
    {
      command: "aws",
      args: ["--region", "eu-west-1", "eks", "get-token", "--cluster-name", "dev"],
      env: { AWS_PROFILE: "dev" },
      apiVersion: BETA,
      interactiveMode: "IfAvailable",
      installHint: null,
      cluster: null,
    },
  );
  const gke = plugin({
    command: "gke-gcloud-auth-plugin",
    args: null,
    env: null,
    installHint: "Install gke-gcloud-auth-plugin",
    provideClusterInfo: true,
    interactiveMode: "Never",
  });
  assert.deepEqual(gke.args, []);
  assert.equal(gke.installHint, "Install gke-gcloud-auth-plugin");
  assert.deepEqual(JSON.parse(execInfo(gke, false)), {
    kind: "ExecCredential",
    apiVersion: BETA,
    spec: {
      interactive: false,
      cluster: {
        server: "https://10.0.0.1",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": btoa("/home/me/.kube/ca.crt"),
        config: { audience: "a" },
      },
    },
  });
  assert.deepEqual(JSON.parse(execInfo(plugin(), true)).spec, { interactive: true });
});

Deno.test("an entry that cannot be used is one sentence with its remedy", () => {
  for (
    const [value, message] of [
      [{ apiVersion: V1 }, /names no command; add one/],
      [{ apiVersion: V1, command: "aws" }, /needs an interactiveMode; add one of Never, /],
      [
        { apiVersion: "client.authentication.k8s.io/v1alpha1", command: "aws" },
        /v1alpha1", which is none of .*\/v1, .*; update aws/,
      ],
      [{ command: "aws" }, /apiVersion null/],
      [{ apiVersion: BETA, command: "aws", args: "x" }, /no list; correct it/],
      [{ apiVersion: BETA, command: "aws", args: [1] }, /no list; correct it/],
      [{ apiVersion: BETA, command: "aws", env: [{ value: "x" }] }, /needs a name and a value/],
      [{ apiVersion: BETA, command: "aws", interactiveMode: "Maybe" }, /interactiveMode/],
      ["aws", /names no command/],
    ] as const
  ) {
    const reading = read(value);
    assert.ok(!reading.ok);
    assert.match(reading.message, message);
    assert.doesNotMatch(reading.message, /\n/);
  }
});

Deno.test("a program gives a token, a certificate or both, with or without an end", () => {
  const text = (status: unknown) =>
    JSON.stringify({ kind: "ExecCredential", apiVersion: BETA, status });
  const later = "2026-11-26T13:00:00Z";
  for (
    const [status, credential] of [
      [{ token: "t" }, { token: "t", pair: null, expiresAt: null }],
      [{ token: "t", expirationTimestamp: later }, {
        ...{ token: "t", pair: null },
        expiresAt: Date.parse(later),
      }],
      [{ clientCertificateData: "c", clientKeyData: "k", expirationTimestamp: null }, {
        ...{ token: null, pair: { certificate: "c", key: "k" }, expiresAt: null },
      }],
    ] as const
  ) {
    assert.deepEqual(readExecCredential(text(status), plugin(), NOW), { ok: true, credential });
  }
});

Deno.test("an invalid credential of a program is said without its text", () => {
  const SECRET = "s3cr3t";
  const of = (value: Readonly<Record<string, unknown>>) =>
    JSON.stringify({ kind: "ExecCredential", apiVersion: BETA, ...value });
  for (
    const [text, message] of [
      [SECRET, /printed no JSON; run it by hand/],
      [`{"token":"${SECRET}"}`, /printed no ExecCredential/],
      [of({ apiVersion: V1, status: { token: SECRET } }), /another apiVersion than .*v1beta1/],
      [of({}), /neither a token nor a client certificate/],
      [of({ status: { token: "" } }), /neither a token/],
      [of({ status: { token: SECRET, clientKeyData: SECRET } }), /or a key alone/],
      [of({ status: { token: SECRET, expirationTimestamp: SECRET } }), /that is no time/],
      [
        of({ status: { token: SECRET, expirationTimestamp: "2026-11-26T11:59:59Z" } }),
        /has ended at 2026-11-26T11:59:59\.000Z; log in again/,
      ],
    ] as const
  ) {
    const reading = readExecCredential(text, plugin(), NOW);
    assert.ok(!reading.ok, text);
    assert.match(reading.message, message);
    assert.ok(!reading.message.includes(SECRET), reading.message);
  }
});

Deno.test("a program that is missing, or not allowed, is said with what helps", () => {
  const { installHint, ...known } = plugin();
  assert.equal(installHint, null);
  assert.equal(
    missingProgram({ ...known, installHint: "See aws.amazon.com/cli\n" }),
    "its user needs the program aws, which is not on PATH; install it\nSee aws.amazon.com/cli",
  );
  assert.match(
    missingProgram(plugin({ command: "/opt/login" })),
    /the program \/opt\/login, which Pingress starts only where you allow it: .*--allow-run=\/opt\/login /,
  );
});

Deno.test("commands may start the programs of the list, and the thread of one no other", async () => {
  const { permissions } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  for (const name of ["cluster", "diff", "lint", "pingress"]) {
    assert.deepEqual(
      permissions[name].run.filter((program: string) => program !== "git"),
      [...KNOWN_PROGRAMS],
      name,
    );
  }
  const page = await Deno.readTextFile(join(ROOT, "docs/pingress.md"));
  for (const name of KNOWN_PROGRAMS) assert.ok(page.includes(`\`${name}\``), name);
  for (const [name, right] of Object.entries(pluginRights("aws", ["/code"]))) {
    const wanted = { run: ["aws"], read: ["/code"] }[name] ?? false;
    assert.deepEqual(right, wanted, name);
  }
});
