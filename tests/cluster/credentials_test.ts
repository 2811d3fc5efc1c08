/**
 * The credentials of a kubeconfig, as `pingress` uses them with a real API server: programs that give tokens and
 * certificates, files of tokens, and a client certificate that has ended.
 */
import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { delimiter, join } from "node:path";
import { startGateway } from "./support/api_gateway.ts";
import { pingressCommand, runPingress, WatchingCommand } from "./support/checked_scene.ts";
import type { TestCluster } from "./support/cluster.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { eventually } from "./support/condition.ts";
import { failure } from "./support/gateway_answers.ts";

const V1 = "client.authentication.k8s.io/v1";
const BETA = "client.authentication.k8s.io/v1beta1";
const DAY = 86_400_000;

/** A program `aws` on a PATH of its own, which prints the file `answer` and notes each run. */
class Program {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(): Promise<Program> {
    const program = new Program(await Deno.makeTempDir({ prefix: "pingress-login-" }));
    await program.is(`#!/bin/sh
printf '%s\\n' "$KUBERNETES_EXEC_INFO $AWS_PROFILE $*" >>'${program.#path("runs")}'
cat '${program.#path("answer")}'
`);
    return program;
  }

  get path(): string {
    return this.#path("aws");
  }

  /** PATH with the program first. */
  get environment(): Readonly<Record<string, string>> {
    return { PATH: `${this.#folder}${delimiter}${Deno.env.get("PATH")}` };
  }

  async is(script: string): Promise<void> {
    await Deno.writeTextFile(this.path, script, { mode: 0o755 });
  }

  async gives(status: Readonly<Record<string, unknown>>, apiVersion = V1): Promise<void> {
    const text = JSON.stringify({ kind: "ExecCredential", apiVersion, status });
    await Deno.writeTextFile(this.#path("answer"), text);
  }

  /** What each run was told, by variable and arguments. */
  runs(): readonly string[] {
    try {
      return Deno.readTextFileSync(this.#path("runs")).trim().split("\n");
    } catch {
      return [];
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.#folder, { recursive: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }
}

const AWS = {
  apiVersion: V1,
  command: "aws",
  args: ["eks", "get-token"],
  env: [{ name: "AWS_PROFILE", value: "dev" }],
  interactiveMode: "IfAvailable",
};

async function kubeconfigOf(
  cluster: TestCluster,
  user: Readonly<Record<string, unknown>>,
  server = cluster.server,
): Promise<string> {
  const config = JSON.parse(cluster.kubeconfigFor("", server));
  config.users[0].user = user;
  return await cluster.writeFile(JSON.stringify(config));
}

/** `pingress status`, in a namespace of a user who may see nothing else. */
async function status(
  kubeconfig: string,
  environment: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
) {
  return await runPingress(
    ["status", "-A", `--kubeconfig=${kubeconfig}`, ...args],
    environment,
  );
}

clusterTest("a program of the kubeconfig gives the token, as on EKS and GKE", async (cluster) => {
  await using program = await Program.make();
  for (const apiVersion of [V1, BETA]) {
    await program.gives({ token: cluster.adminToken }, apiVersion);
    const exec = { ...AWS, apiVersion, provideClusterInfo: true };
    const kubeconfig = await kubeconfigOf(cluster, { exec });
    const { code, out, err } = await status(kubeconfig, program.environment);
    deepEqual([code, err.includes("cannot list ingresses")], [0, false], err);
    ok(!`${out}${err}`.includes(cluster.adminToken));
  }
  const runs = program.runs();
  equal(runs.length, 2);
  for (const [i, run] of runs.entries()) {
    const [, info, rest] = /^(\{.*\}) (.*)$/.exec(run)!;
    equal(rest, "dev eks get-token");
    const { kind, apiVersion, spec } = JSON.parse(info);
    deepEqual([kind, apiVersion], ["ExecCredential", [V1, BETA][i]]);
    equal(spec.interactive, false);
    equal(spec.cluster.server, cluster.server);
    equal(atob(spec.cluster["certificate-authority-data"]), cluster.caPem);
  }
});

clusterTest("a program gives a client certificate", async (cluster) => {
  await using program = await Program.make();
  const name = `jane-${crypto.randomUUID().slice(0, 8)}`;
  const { chain, key } = cluster.authority.issue({ names: [name] });
  await program.gives({ clientCertificateData: chain, clientKeyData: key.reveal() });
  const { code, out } = await runPingress([
    "check",
    "-o=json",
    `--kubeconfig=${await kubeconfigOf(cluster, { exec: AWS })}`,
  ], program.environment);
  // Whoever the certificate names has no rights, and the API server says so.
  equal(code, 2);
  match(out, new RegExp(`User \\\\"${name}\\\\" cannot list`));
});

clusterTest(
  "a credential that the API server refuses at once is not asked for without end",
  async (cluster) => {
    await using program = await Program.make();
    await using gateway = await startGateway(cluster);
    await program.gives({ token: cluster.adminToken });
    const kubeconfig = await kubeconfigOf(cluster, { exec: AWS }, gateway.server);
    gateway.inject({ token: cluster.adminToken }, failure(401, "Unauthorized"));
    const { code, out } = await status(kubeconfig, program.environment);
    equal(code, 2);
    match(out, /the program aws of user "test" gives\n.*Log in again with that program/);
    // Each of the commands' calls fails, and those that fail together share one more run.
    ok(program.runs().length < gateway.requests.length, program.runs().join("\n"));
  },
);

clusterTest(
  "a credential that the API server no longer accepts is given again",
  async (cluster) => {
    await using program = await Program.make();
    await using gateway = await startGateway(cluster);
    await program.gives({ token: cluster.adminToken });
    const kubeconfig = await kubeconfigOf(cluster, { exec: AWS }, gateway.server);
    await using _watching = new WatchingCommand(
      [...await pingressCommand(), "status", "-A", "--watch", `--kubeconfig=${kubeconfig}`],
      program.environment,
    );
    await eventually(
      "watch",
      () => gateway.recorded({ resource: "ingresses", verb: "watch" }).some(({ isOpen }) => isOpen),
    );
    const namespace = await cluster.newNamespace();
    const token = await cluster.serviceAccountToken(namespace, "next");
    gateway.inject({ token: cluster.adminToken }, failure(401, "Unauthorized"));
    await program.gives({ token });
    gateway.endStreams({ verb: "watch" });
    await eventually("request with the next token", () => gateway.recorded({ token }).length > 0);
  },
);

clusterTest("a credential that ends is given again before the next call", async (cluster) => {
  await using program = await Program.make();
  // Ten seconds are enough for the first calls, and for reading what it has printed.
  await program.is(`#!/bin/sh
printf '%s\\n' run >>'${program.path}.runs'
printf '{"kind":"ExecCredential","apiVersion":"${V1}","status":{"token":"%s","expirationTimestamp":"%s"}}' \\
  '${cluster.adminToken}' "$(date -u -d '+10 seconds' +%Y-%m-%dT%H:%M:%SZ)"
`);
  const kubeconfig = await kubeconfigOf(cluster, { exec: AWS });
  await using _watching = new WatchingCommand(
    [...await pingressCommand(), "status", "-A", "--watch", `--kubeconfig=${kubeconfig}`],
    program.environment,
  );
  await eventually("second run", async () => {
    const runs = await Deno.readTextFile(`${program.path}.runs`).catch(() => "");
    return runs.trim().split("\n").length > 1;
  });
});

clusterTest(
  "a program that fails, is missing or not allowed is one sentence each",
  async (cluster) => {
    await using program = await Program.make();
    const SECRET = "s3cr3t-token";
    for (
      const [exec, script, expected] of [
        [
          AWS,
          "#!/bin/sh\necho Run aws sso login >&2\nexit 255\n",
          // A program that takes long is named before it ends.
          /Run aws sso login\n(?:Running aws\n)?.*aws of the kubeconfig ended with exit code 255; follow/,
        ],
        [
          AWS,
          `#!/bin/sh\necho ${SECRET}\n`,
          /aws of the kubeconfig printed no JSON; run it by hand/,
        ],
        [AWS, "#!/bin/sh\nexec sleep 1000\n", /aws of the kubeconfig did not end within 0\.5 s/],
        [
          { ...AWS, interactiveMode: "Always" },
          "#!/bin/sh\n",
          /asks questions; run pingress at a terminal/,
        ],
        [
          { ...AWS, command: "tsh", installHint: "See goteleport.com" },
          "",
          /needs the program tsh, which is not on PATH; install it\nSee goteleport\.com/,
        ],
        [
          { ...AWS, command: "some-login" },
          "",
          /some-login, which Pingress starts only where you allow it: .*--allow-run=some-login/,
        ],
        [
          { ...AWS, apiVersion: "client.authentication.k8s.io/v1alpha1" },
          "",
          /v1alpha1", which is none of/,
        ],
      ] as const
    ) {
      await program.is(script);
      const kubeconfig = await kubeconfigOf(cluster, { exec });
      const { code, out, err } = await status(kubeconfig, program.environment, ["--timeout=500ms"]);
      deepEqual([code, out], [2, ""], err);
      match(err, expected);
      doesNotMatch(err, /\n {4}at /);
      ok(!err.includes(SECRET), err);
    }
  },
);

clusterTest("an auth-provider is refused with what replaces it", async (cluster) => {
  for (
    const [name, expected] of [
      ["gcp", /auth-provider "gcp", and Pingress has none; install gke-gcloud-auth-plugin/],
      ["azure", /kubelogin convert-kubeconfig/],
      ["oidc", /kubectl oidc-login/],
      ["other", /use a token, a client certificate, or a program/],
    ] as const
  ) {
    const kubeconfig = await kubeconfigOf(cluster, { "auth-provider": { name, config: {} } });
    const { code, out, err } = await status(kubeconfig);
    deepEqual([code, out], [2, ""], err);
    match(err, expected);
  }
});

clusterTest("a token of a file is used, and goes before a program", async (cluster) => {
  const tokenFile = await cluster.writeFile(cluster.adminToken);
  for (const user of [{ tokenFile }, { tokenFile, exec: AWS }]) {
    const { code, err } = await status(await kubeconfigOf(cluster, user));
    equal(code, 0, err);
  }
});

clusterTest(
  "a client certificate that has ended is named, with its end and a remedy",
  async (cluster) => {
    const now = Date.now();
    const end = new Date(Math.floor((now - DAY) / 1000) * 1000);
    const { chain, key } = cluster.authority.issue({
      names: ["jane"],
      validFrom: now - 2 * DAY,
      validTo: end.getTime(),
    });
    const files = {
      "client-certificate": await cluster.writeFile(chain),
      "client-key": await cluster.writeFile(key.reveal()),
    };
    const data = {
      "client-certificate-data": btoa(chain),
      "client-key-data": btoa(key.reveal()),
    };
    const wanted =
      `the client certificate CN=jane of user "test" has ended at ${end.toISOString()}`;
    for (const user of [files, data]) {
      const kubeconfig = await kubeconfigOf(cluster, user);
      for (const args of [["status", "-A"], ["check"], ["lint", "--context=test"]]) {
        const { code, out, err } = await runPingress([...args, `--kubeconfig=${kubeconfig}`]);
        ok(code > 0);
        const said = `${out}${err}`;
        ok(said.includes(wanted), said);
        match(
          said,
          /[Rr]enew the certificate as your cluster does it, such as by kubeadm certs renew/,
        );
        ok(!said.includes(key.reveal()));
      }
    }
  },
);
