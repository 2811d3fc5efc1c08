/**
 * What the controller could do if its code were not its own: the same permissions, held by code that
 * tries. And what it says where it was started with too few.
 */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { join } from "node:path";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { allowed, watchedPort } from "../support/rights_findings.ts";
import type { ProbeFindings } from "../support/rights_probe.ts";
import { clusterTest } from "./support/cluster_case.ts";
import { ControllerProcess } from "./support/controller_process.ts";
import { kubeconfigText } from "./support/kubeconfig.ts";

const ROOT = join(import.meta.dirname!, "..", "..");

/** Where clouds hand out credentials, under each name that it has. */
const METADATA = [
  "169.254.169.254 80",
  "::ffff:169.254.169.254 80",
  "::ffff:a9fe:a9fe 80",
  "2852039166 80",
  "169.254.170.2 80",
  "fd00:ec2::254 80",
];

interface Findings {
  readonly worker: ProbeFindings;
  /** The thread that was started first, after the worker's start. */
  readonly first: ProbeFindings;
}

async function controllerCommand(): Promise<string[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  return tasks.controller.command.split(" ").slice(1);
}

/** What code could do in each thread of a controller with these flags, and could dial of `dial`. */
async function probe(flags: readonly string[], dial: readonly string[]): Promise<Findings> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...(await controllerCommand()).slice(0, -1),
      "tests/support/narrowed_controller.ts",
      "--backend=HostPort",
      ...flags,
    ],
    cwd: ROOT,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify(dial)));
  await writer.close();
  const { stdout, stderr } = await child.output();
  const text = new TextDecoder().decode(stdout);
  notEqual(text, "", new TextDecoder().decode(stderr));
  return JSON.parse(text);
}

/** A folder with a kubeconfig for `server`, and a file beside it that is nobody's business. */
async function kubeconfigFolder(server: string): Promise<string> {
  const folder = await Deno.makeTempDir();
  const { certificate: caPem } = await CertificateAuthority.create("nobody");
  const text = kubeconfigText({ server, caPem, credentials: { token: "x" } });
  await Deno.writeTextFile(join(folder, "kubeconfig"), text);
  await Deno.writeTextFile(join(folder, "other"), "");
  return folder;
}

Deno.test("code in the controller reaches the API server and its own port, reads its credentials, and nothing else", async () => {
  using server = watchedPort("127.0.0.1");
  using other = watchedPort("127.0.0.1");
  using outside = watchedPort("0.0.0.0");
  const folder = await kubeconfigFolder(`https://127.0.0.1:${server.port}`);
  try {
    const flags = [`--kubeconfig=${folder}/kubeconfig`, "--admin=127.0.0.4:19091"];
    const findings = await probe(flags, [
      ...METADATA,
      `127.0.0.1 ${other.port}`,
      `127.0.0.1 ${outside.port}`,
      `localhost ${server.port}`,
      `::ffff:127.0.0.1 ${server.port}`,
      `127.0.0.2 ${server.port}`,
      `0.0.0.0 ${server.port}`,
      "10.96.0.1 443",
      "127.0.0.4 19091",
      `127.0.0.1 ${server.port}`,
    ]);
    const { "read the configuration": kubeconfig, ...rest } = allowed(findings.worker);
    match(kubeconfig, /current-context/);
    deepEqual(rest, {
      // The right to listen is a right to dial; nobody listens here.
      "dial 127.0.0.4 19091": "ConnectionRefused",
      [`dial 127.0.0.1 ${server.port}`]: "done",
      // The same address by another name.
      [`dial ::ffff:127.0.0.1 ${server.port}`]: "done",
      // Node's module tells of no right; the folder below tells that it did nothing.
      "run by node:child_process": "Error",
    });
    deepEqual(allowed(findings.first), { "run by node:child_process": "Error" });
    equal(server.calls, 2);
    equal(other.calls + outside.calls, 0);
    deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "kubeconfig",
      "other",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("code in the controller sees no environment variables, and cannot set any", async () => {
  const folder = await kubeconfigFolder("https://127.0.0.1:1");
  try {
    const { worker, first } = await probe([`--kubeconfig=${folder}/kubeconfig`], []);
    for (const findings of [worker, first]) {
      for (const what of ["read a variable", "read all variables", "set a variable"]) {
        // Deno is told to ignore them, for packages that look for some.
        equal(findings[what], "nothing", what);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the controller's command line grants only net, read and three variables", async () => {
  const { permissions } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const command = await controllerCommand();
  // Flags of V8 decide about memory, none about rights.
  const flags = command.filter((word) => word.startsWith("-") && !word.startsWith("--v8-flags="));
  deepEqual(flags, ["-q", "-P=controller", "--no-prompt"]);
  const { net, env, ...others } = permissions.controller;
  deepEqual(others, { read: true });
  deepEqual(env, {
    allow: ["KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAME"],
    ignore: true,
  });
  deepEqual(Object.keys(net), ["allow", "deny"]);
});

/** Runs the controller with other flags of Deno until it ends; its exit code, and what it said. */
async function runWith(denoFlags: readonly string[], flags: readonly string[]) {
  const command = await controllerCommand();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...command.slice(0, -1),
      ...denoFlags,
      command.at(-1)!,
      "--backend=HostPort",
      "--admin=127.0.0.1:19191",
      ...flags,
    ],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("a controller without enough permissions reports the missing flag", async () => {
  const folder = await kubeconfigFolder("https://127.0.0.1:18443");
  const template = join(ROOT, "manifests", "sample", "sample.yaml");
  const cases: readonly (readonly [denoFlags: readonly string[], flag: string])[] = [
    [["--allow-net=127.0.0.1:19191"], "--allow-net=127.0.0.1:18443"],
    [["--allow-net=127.0.0.1:18443"], "--allow-net=127.0.0.1:19191"],
    [[`--allow-read=${folder}`], `--allow-read=${template}`],
    [[`--allow-read=${folder},${template}`], `--allow-read=${join(ROOT, "controller")}`],
  ];
  const flags = [`--kubeconfig=${folder}/kubeconfig`, `--proxy-pod-template=${template}`];
  try {
    for (const [denoFlags, flag] of cases) {
      const { code, said } = await runWith(denoFlags, flags);
      equal(code, 1, said);
      const { reason } = JSON.parse(said);
      equal(reason.split("; ").at(-1), `add ${flag}`);
    }
    const { code, said } = await runWith([`--allow-read=${ROOT}`], flags);
    equal(code, 1, said);
    match(said, new RegExp(`Requires read access to \\\\"${folder}/kubeconfig.*--allow-read`));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("a kubeconfig without a CA for the API server is rejected", async () => {
  const file = await Deno.makeTempFile();
  const kubeconfig = JSON.parse(
    kubeconfigText({ server: "https://127.0.0.1:1", caPem: "", credentials: { token: "x" } }),
  );
  delete kubeconfig.clusters[0].cluster["certificate-authority-data"];
  try {
    await Deno.writeTextFile(file, JSON.stringify(kubeconfig));
    const { code, said } = await runWith([], [`--kubeconfig=${file}`]);
    equal(code, 1, said);
    match(said, /add certificate-authority-data/);
  } finally {
    await Deno.remove(file);
  }
});

clusterTest("a controller with only the required permissions works", async (cluster) => {
  const folder = await Deno.makeTempDir();
  const kubeconfig = join(folder, "kubeconfig");
  await Deno.writeTextFile(kubeconfig, cluster.kubeconfigFor(cluster.adminToken));
  const flags = [
    `--allow-net=127.0.0.1:${cluster.port},127.0.0.1`,
    `--allow-read=${folder},${ROOT}`,
  ];
  try {
    await using controller = await ControllerProcess.start({
      kubeconfig,
      denoFlags: flags,
      args: ["--backend=HostPort"],
    });
    equal(await controller.stop(), 0);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

clusterTest(
  "a kubeconfig may address the API server by name, or skip the verification of its certificate",
  async (cluster) => {
    const byName = cluster.kubeconfigFor(cluster.adminToken, `https://localhost:${cluster.port}`);
    const unchecked = JSON.parse(byName);
    const { "certificate-authority-data": _ca, ...bare } = unchecked.clusters[0].cluster;
    unchecked.clusters[0].cluster = { ...bare, "insecure-skip-tls-verify": true };
    for (const text of [byName, JSON.stringify(unchecked)]) {
      const kubeconfig = await cluster.writeFile(text);
      await using controller = await ControllerProcess.start({
        kubeconfig,
        args: ["--backend=HostPort"],
      });
      equal(await controller.stop(), 0);
    }
  },
);
