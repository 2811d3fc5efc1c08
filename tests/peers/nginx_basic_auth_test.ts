/**
 * Random pairs of Ingress and request, with logins, networks and external authentication of which all or any
 * must admit, by nginx as ingress-nginx configures it and by us. In: a seed. Out: the same status, headers,
 * subrequest and request to the backend, or the pair that differs.
 *
 * Left out is what the table of annotations says we do otherwise, a second Authorization, and passwords in
 * formats that are not admitted here.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { Random } from "../fuzz/random.ts";
import { annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { TestProxy } from "../support/test_proxy.ts";
import { findNginx, MISSING, Nginx } from "./nginx.ts";
import { type AuthIngress, authServers } from "./nginx_auth.ts";
import { authBackend, authOutcome, namesOf } from "./nginx_auth_outcome.ts";
import { PairCounts } from "./pair_counts.ts";
import {
  FORMATS,
  type PasswordFile,
  passwordFiles,
  type RandomLogin,
  randomLogin,
  rightLogins,
} from "./password_files.ts";
import { randomExternal } from "./random_auth.ts";

/** PEERS_SEED=N takes another one. */
const SEED = Number(Deno.env.get("PEERS_SEED") ?? 20_261_128);
const INGRESSES = 120;
const REQUESTS = 6;

const NETWORKS = ["127.0.0.0/8, 10.1.0.0/16", "10.0.0.0/8", "0.0.0.0/0"];

interface Case {
  readonly ingress: AuthIngress;
  readonly file: PasswordFile;
  readonly logins: readonly RandomLogin[];
}

/** Each user logs in. */
function plainCase(file: PasswordFile): Case {
  const { name, kind } = file;
  const annotations = { "auth-type": "basic", "auth-secret": name, "auth-secret-type": kind };
  const ingress = { host: `${name}.test`, annotations, paths: [["/", "Prefix"]] } as const;
  return { ingress, file, logins: rightLogins(file) };
}

function randomCase(random: Random, index: number, files: readonly PasswordFile[]): Case {
  const file = random.pick(files);
  const { name } = file;
  const isDefault = file.kind === "auth-file" && random.oneIn(3);
  const annotations: Record<string, string> = {
    "auth-type": "basic",
    "auth-secret": random.pick([name, `default/${name}`]),
    ...(isDefault ? {} : { "auth-secret-type": file.kind }),
    ...(random.oneIn(3) ? {} : { "auth-realm": random.pick(["Staff only", "a/b: c-d_e.~", "x"]) }),
    ...(random.oneIn(3) ? {} : { satisfy: random.pick(["any", "all"]) }),
    ...(random.oneIn(3) ? { "allowlist-source-range": random.pick(NETWORKS) } : {}),
    ...(random.oneIn(4) ? { "denylist-source-range": random.pick(NETWORKS) } : {}),
    ...(random.oneIn(2) ? randomExternal(random) : {}),
  };
  const ingress = { host: `h${index}.test`, annotations, paths: [["/", "Prefix"]] } as const;
  return {
    ingress,
    file,
    logins: Array.from({ length: REQUESTS }, () => randomLogin(random, file)),
  };
}

function randomRequest(random: Random, host: string, login: string | null): string {
  const lines = [
    `Host: ${host}`,
    ...(login === null ? [] : [`Authorization: ${login}`]),
    ...(random.oneIn(2) ? ["Cookie: s=1"] : []),
    "Connection: close",
  ];
  return `GET ${random.pick(["/", "/a/s/404"])} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
}

Deno.test("logins of random Secrets, and satisfy, are as with ingress-nginx", async () => {
  const program = await findNginx();
  if (program === null) {
    console.warn(MISSING);
    return;
  }
  const random = new Random(SEED);
  const files = passwordFiles(random.fork());
  const folder = await Deno.makeTempDir({ prefix: "users-" });
  await Deno.chmod(folder, 0o755);
  for (const { name, text } of files) {
    await Deno.writeTextFile(join(folder, name), text, { mode: 0o644 });
  }
  const cases = [
    ...files.map(plainCase),
    ...Array.from({ length: INGRESSES }, (_, i) => randomCase(random.fork(), i, files)),
  ];
  const ingresses = cases.map(({ ingress, file }): AuthIngress => {
    return { ...ingress, users: join(folder, file.name) };
  });
  const heads: string[] = [];
  await using backend = authBackend(heads);
  const nginx = await Nginx.startWith(program, (port) => {
    return authServers(ingresses, { port, backendPort: backend.port, targets: ["/", "/a/s/404"] });
  });
  try {
    using proxy = new TestProxy([]);
    const byName = Object.fromEntries(ingresses.map((ingress, i) => [`i${i}`, ingress]));
    const secrets = files.map(({ secret }) => secret);
    proxy.server.apply(annotatedSnapshot(byName, [backend.port], "nginx", secrets));
    const pairs = new PairCounts();
    const admitted = new Set<string>();
    for (const { ingress, file, logins } of cases) {
      for (const { value, format } of logins) {
        const request = randomRequest(random, ingress.host, value);
        const theirs = await authOutcome(nginx.port, request, heads);
        const ours = await authOutcome(proxy.port, request, heads);
        const words = () => `${JSON.stringify(ingress)} ${JSON.stringify(request)} ${file.text}`;
        assert.deepEqual(ours, theirs, words());
        const { annotations } = ingress;
        const isAdmitted = theirs.received.length > 0 && annotations["satisfy"] !== "any";
        if (isAdmitted && format !== null) admitted.add(format);
        pairs.add([
          ...Object.keys(annotations),
          `${file.kind} of ${annotations["auth-secret-type"] ?? "default"}`,
          `satisfy ${annotations["satisfy"] ?? "by default"}`,
        ], namesOf(theirs));
      }
    }
    pairs.assertEnough([
      ...["auth-type", "auth-secret", "auth-secret-type", "auth-realm", "satisfy", "auth-url"],
      ...["auth-file of auth-file", "auth-file of default", "auth-map of auth-map"],
      ...["satisfy any", "satisfy all", "allowlist-source-range", "denylist-source-range"],
    ]);
    for (const format of FORMATS) assert.ok(admitted.has(format), `nobody with ${format}`);
    pairs.assertOutcomes([
      ...["200", "302", "401", "403", "404", "500", "asked", "forwarded", "set-cookie"],
      ...["www-authenticate", "location"],
    ]);
  } finally {
    await nginx.stop();
    await Deno.remove(folder, { recursive: true });
  }
});
