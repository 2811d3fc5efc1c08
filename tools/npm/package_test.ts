/** The npm package as a user has it: what `npm pack` makes, started by Node in a folder without sources. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { dirname, join } from "node:path";
import { get, Output } from "../../tests/support/dev_process.ts";
import { refusingPort } from "../../tests/support/backend.ts";
import { interrupt, isGone } from "../../tests/support/interrupted.ts";
import { VERSION } from "../../shared/version.ts";
import { runCommand } from "../command.ts";
import { DENO_PACKAGE } from "./package_json.ts";

const ROOT = join(import.meta.dirname!, "../..");

/** Unpacked, beside Deno. */
const MOST_BYTES = 5e6;

const made = await madePackage();

/** Tests of it, unless what makes it is missing. */
function packageTest(name: string, test: (installed: Installed) => Promise<void>): void {
  Deno.test(name, async () => {
    if (typeof made === "string") {
      console.log(`skipped: ${made}`);
      return;
    }
    await test(made);
  });
}

interface Installed {
  /** With `node_modules/pingress`. */
  readonly folder: string;
  readonly bin: string;
  /** An empty HOME, a cache of Deno's that is empty, and no registry. */
  readonly env: Readonly<Record<string, string>>;
}

packageTest("the package holds all that it needs in 5 MB", async ({ folder }) => {
  const size = (path: string): number =>
    Array.from(Deno.readDirSync(path)).reduce(
      (sum, { name, isDirectory }) =>
        sum + (isDirectory ? size(join(path, name)) : Deno.statSync(join(path, name)).size),
      0,
    );
  const bytes = size(join(folder, "node_modules/pingress"));
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`);
  const about = JSON.parse(
    await Deno.readTextFile(join(folder, "node_modules/pingress/package.json")),
  );
  assert.deepEqual(Object.keys(about.bin), [
    "pingress",
    "kubectl-pingress",
    "kubectl_complete-pingress",
  ]);
  assert.equal(about.version, VERSION);
  assert.deepEqual(about.dependencies, { deno: DENO_PACKAGE });
  for (const { name } of Deno.readDirSync(join(folder, "node_modules/pingress/lib"))) {
    const text = await Deno.readTextFile(join(folder, "node_modules/pingress/lib", name));
    assert.doesNotMatch(text, /deno task |deno run -P/, name);
  }
  const licences = await Deno.readTextFile(
    join(folder, "node_modules/pingress/THIRD_PARTY_LICENSES"),
  );
  assert.match(licences, /^yaml \d/m);
});

packageTest("its commands run, with their exit codes", async ({ folder, bin, env }) => {
  await Deno.mkdir(join(folder, "manifests"), { recursive: true });
  await Deno.writeTextFile(join(folder, "manifests/a.yaml"), INGRESS);
  for (
    const [args, code, pattern] of [
      [["version"], 0, new RegExp(`^pingress ${VERSION} \\(Deno 2`)],
      [["--version"], 0, /^pingress /],
      [["help"], 0, /^ {2}lint /m],
      [["lint", "--help"], 0, /--fail-on/],
      [["codes", "ServiceNotFound"], 0, /^ServiceNotFound\n/],
      [["completion", "bash"], 0, /^complete .* pingress kubectl-pingress$/m],
      [["lint", "manifests"], 0, /^1 Ingress: 0 OPENS/m],
      [["lint", "manifests", "--fail-on=differs"], 1, /DIFFERS {2}default\/web/],
      [["lint", "nowhere"], 2, /There is no file or folder nowhere/],
      [["toString"], 2, /no command "toString"/],
      [[], 2, /^Usage: pingress/m],
    ] as const
  ) {
    const answer = await runCommand("node", [bin, ...args], { cwd: folder, env });
    assert.equal(answer.code, code, `${args}: ${answer.stdout}${answer.stderr}`);
    assert.match(answer.stdout + answer.stderr, pattern);
  }
});

packageTest("kubectl is told what may be typed next", async ({ folder, env }) => {
  const complete = join(folder, "node_modules/pingress/bin/kubectl_complete.cjs");
  const { code, stdout } = await runCommand("node", [complete, "explain", "--clu"], {
    cwd: folder,
    env,
  });
  assert.deepEqual([code, stdout], [0, "--cluster\n:4\n"]);
});

packageTest("its threads start: commands reach for a cluster", async ({ folder, bin, env }) => {
  const kubeconfig = join(folder, "kubeconfig");
  await Deno.writeTextFile(kubeconfig, kubeconfigOf(`https://127.0.0.1:${refusingPort()}`));
  for (
    const [command, code] of [
      ["lint", 2],
      ["check", 1],
      ["status", 2],
    ] as const
  ) {
    const args = [bin, command, "--context=a", `--kubeconfig=${kubeconfig}`];
    const answer = await runCommand("node", args, { cwd: folder, env });
    const said = answer.stdout + answer.stderr;
    assert.equal(answer.code, code, said);
    assert.match(said, /refused/i);
    assert.doesNotMatch(said, /permission|Module not found|NotCapable/i);
  }
});

packageTest(
  "dev serves, verifies passwords in its thread, and ends on a signal",
  async ({ folder, bin, env }) => {
    await Deno.mkdir(join(folder, "served"), { recursive: true });
    await Deno.writeTextFile(join(folder, "served/a.yaml"), PROTECTED);
    const child = new Deno.Command("node", {
      args: [
        bin,
        ...["dev", "served", "--nginx-class=nginx", "--listen-http=127.0.0.1:0"],
        ...["--listen-https=127.0.0.1:0", "--admin=127.0.0.1:0"],
      ],
      cwd: folder,
      env,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const output = new Output(child.stdout);
    const errors = new Output(child.stderr);
    const [, port] = await output.match(/http:\/\/127\.0\.0\.1:(\d+)/);
    const without = await get(Number(port), "app.test", "/");
    assert.equal(without.status, 401);
    assert.equal(await statusAs("ada:secret", Number(port)), 200);
    assert.equal(await statusAs("ada:wrong", Number(port)), 401);
    child.kill("SIGTERM");
    const { code } = await child.status;
    assert.equal(code, 0, await errors.all());
    assert.match(await output.all(), /Stopped\./);
  },
);

packageTest(
  "Ctrl-C ends it and its command, and it ends as that did",
  async ({ folder, bin, env }) => {
    using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const kubeconfig = join(folder, "silent");
    await Deno.writeTextFile(kubeconfig, kubeconfigOf(`https://127.0.0.1:${silent.addr.port}`));
    const child = new Deno.Command("node", {
      args: [bin, "status", "--context=a", `--kubeconfig=${kubeconfig}`],
      cwd: folder,
      env,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const held: Deno.Conn[] = [];
    let command = 0;
    const { code, signal, out } = await interrupt({
      process: child,
      isThere: async () => {
        held.push(await silent.accept());
        const { pid } = child;
        command = Number(Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`).trim());
      },
    });
    for (const connection of held) connection.close();
    assert.deepEqual({ code, signal, out }, { code: 130, signal: "SIGINT", out: "" });
    assert.ok(command > 0);
    await isGone(command);
  },
);

packageTest(
  "--allow-run=PROGRAM lets a command start a program that Pingress does not know",
  async ({ folder, bin, env }) => {
    const login = join(folder, "some-login");
    await Deno.writeTextFile(login, "#!/bin/sh\nexit 7\n", { mode: 0o755 });
    const kubeconfig = join(folder, "with-login");
    const config = JSON.parse(kubeconfigOf(`https://127.0.0.1:${refusingPort()}`));
    config.users[0].user = {
      exec: {
        apiVersion: "client.authentication.k8s.io/v1",
        command: login,
        interactiveMode: "Never",
      },
    };
    config["current-context"] = "a";
    await Deno.writeTextFile(kubeconfig, JSON.stringify(config));
    const args = ["status", `--kubeconfig=${kubeconfig}`];
    for (
      const [flags, expected] of [
        [[], `pingress --allow-run=${login} …`],
        [[`--allow-run=${login}`], "ended with exit code 7"],
      ] as const
    ) {
      const { code, stderr } = await runCommand("node", [bin, ...flags, ...args], {
        cwd: folder,
        env,
      });
      assert.equal(code, 2);
      assert.ok(stderr.includes(expected), stderr);
    }
  },
);

packageTest(
  "a closed pipe ends it, and the child that it has started",
  async ({ folder, bin, env }) => {
    const line = `node ${bin} codes | head -1; echo "\${PIPESTATUS[0]}"`;
    const { code, stdout } = await runCommand("bash", ["-c", line], { cwd: folder, env });
    assert.equal(code, 0);
    assert.match(stdout, /^Hosts and paths\n(?:141|0)\n$/);
  },
);

packageTest(
  "an old Deno on PATH is passed over for that of the package deno",
  async ({ folder, bin, env }) => {
    const old = join(folder, "old");
    await Deno.mkdir(old, { recursive: true });
    await Deno.writeTextFile(join(old, "deno"), "#!/bin/sh\necho deno 2.8.3\n", { mode: 0o755 });
    const node = (await runCommand("sh", ["-c", "command -v node"])).stdout.trim();
    await Deno.symlink(node, join(old, "node"));
    const onlyOld = { ...env, PATH: `${old}:/bin` };
    const none = await runCommand(join(old, "node"), [bin, "version"], {
      cwd: folder,
      env: onlyOld,
    });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /^pingress needs Deno 2\.9 or newer/);
    // As npm lays it out.
    const platform = `@deno/${Deno.build.os}-${
      Deno.build.arch === "aarch64" ? "arm64" : "x64"
    }-glibc`;
    const modules = join(folder, "node_modules");
    await Deno.mkdir(join(modules, "deno"), { recursive: true });
    await Deno.mkdir(join(modules, platform), { recursive: true });
    await Deno.writeTextFile(
      join(modules, "deno/package.json"),
      JSON.stringify({
        name: "deno",
        version: "2.9.6",
        optionalDependencies: { [platform]: "2.9.6" },
      }),
    );
    await Deno.writeTextFile(
      join(modules, platform, "package.json"),
      JSON.stringify({ name: platform }),
    );
    await Deno.symlink(Deno.execPath(), join(modules, platform, "deno"));
    const found = await runCommand(join(old, "node"), [bin, "version"], {
      cwd: folder,
      env: onlyOld,
    });
    assert.equal(found.code, 0, found.stderr);
    assert.match(found.stdout, /^pingress /);
  },
);

Deno.test("the package deno is the Deno of the images", async () => {
  const dockerfile = await Deno.readTextFile(join(ROOT, "Dockerfile.proxy"));
  assert.match(dockerfile, new RegExp(`^ARG DENO=docker\\.io/denoland/deno:${DENO_PACKAGE}$`, "m"));
});

/** Installed from the archive as npm would, without its dependency; or why it cannot be. */
async function madePackage(): Promise<Installed | string> {
  for (const program of ["node", "npm", "tar"]) {
    const { code } = await runCommand(program, ["--version"]);
    if (code !== 0) return `${program} is not installed`;
  }
  const folder = await Deno.makeTempDir({ prefix: "pingress-npm-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  const output = join(folder, "made");
  const packed = await runCommand(Deno.execPath(), [
    ...["run", "-q", "-A", "--no-check", "tools/npm/main.ts", `--output=${output}`],
  ], { cwd: ROOT });
  assert.equal(packed.code, 0, packed.stderr);
  const archive = join(output, `pingress-${VERSION}.tgz`);
  const installed = join(folder, "node_modules/pingress");
  await Deno.mkdir(installed, { recursive: true });
  const unpacked = await runCommand("tar", [
    ...["--extract", "--strip-components=1", `--file=${archive}`, `--directory=${installed}`],
  ]);
  assert.equal(unpacked.code, 0, unpacked.stderr);
  await Deno.remove(output, { recursive: true });
  const home = join(folder, "home");
  await Deno.mkdir(home);
  return {
    folder,
    bin: join(installed, "bin/pingress.cjs"),
    env: {
      HOME: home,
      DENO_DIR: join(home, "deno"),
      NPM_CONFIG_REGISTRY: "http://registry.invalid/",
      PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}`,
      NO_COLOR: "1",
    },
  };
}

/** The status that these credentials get. */
function statusAs(credentials: string, port: number): Promise<number | undefined> {
  const headers = { host: "app.test", authorization: `Basic ${btoa(credentials)}` };
  return new Promise((resolve, reject) => {
    request({ host: "127.0.0.1", port, headers, agent: false }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    }).on("error", reject).end();
  });
}

function kubeconfigOf(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "u", user: { token: "t" } }],
    contexts: [{ name: "a", context: { cluster: "c", user: "u" } }],
  });
}

const INGRESS = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations: { nginx.ingress.kubernetes.io/enable-cors: "true" }
spec:
  ingressClassName: nginx
  rules:
    - host: app.test
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
`;

/** User ada with the password secret, as bcrypt, which is WebAssembly. */
const PROTECTED = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations:
    nginx.ingress.kubernetes.io/auth-type: basic
    nginx.ingress.kubernetes.io/auth-secret: users
spec:
  ingressClassName: nginx
  rules:
    - host: app.test
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
---
apiVersion: v1
kind: Secret
metadata: { name: users }
stringData: { auth: "ada:$2a$05$/uaF/uaF/uaF/uaF/uaF/uqOlJvf5V6mxHa8l/Vi42EntB04znnsa" }
`;
