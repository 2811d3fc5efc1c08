/** Ctrl-C in each phase of a command: it ends as SIGINT ends programs, without a trace and without a child. */
import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import { eventually } from "../cluster/support/condition.ts";
import {
  EXAMPLES,
  FREE_PORTS,
  manifest,
  PROGRESS,
  spawn,
  withFolder,
} from "../support/dev_process.ts";
import { type Ending, hasRead, interrupt, isGone, writtenPid } from "../support/interrupted.ts";

/** Of a program that nothing catches the signal in. */
const BY_SIGNAL = { code: 130, signal: "SIGINT" } as const;

/** Of one that has to end another first: Deno lets nobody send a signal to itself. */
const BY_CODE = { code: 130, signal: null } as const;

const HOSTS = 2000;
/** Of each file, so that reading them all is seen from outside. */
const PADDING = `#${"x".repeat(20_000)}\n`;

/** Tries it until it was interrupted before it had printed anything. */
async function whileSilent(attempt: () => Promise<Ending>): Promise<Ending> {
  return await eventually("interruption before the first line", async () => {
    const ending = await attempt();
    return ending.out === "" ? ending : null;
  });
}

function manyFiles(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Array.from({ length: HOSTS }, (_, i) => {
      const text = manifest(`h${i}.example.com`).replaceAll("name: app", `name: app${i}`);
      return [`${i}.yaml`, `${PADDING}${text}`];
    }),
  );
}

Deno.test("Ctrl-C while dev starts, and while lint reads a big folder", async () => {
  await withFolder(manyFiles(), async (folder) => {
    for (const [task, args] of [["dev", FREE_PORTS], ["lint", []]] as const) {
      const { code, signal, err } = await whileSilent(async () => {
        const process = spawn(task, [folder, ...args]);
        const isThere = () => hasRead(process.pid, HOSTS * PADDING.length / 2);
        return await interrupt({ process, isThere });
      });
      assert.deepEqual({ code, signal }, BY_SIGNAL, task);
      assert.match(err, PROGRESS, task);
    }
  });
});

Deno.test("Ctrl-C while dev serves closes its ports, and ends it with 0", async () => {
  const { code, signal, out } = await interrupt({
    process: spawn("dev", [EXAMPLES, "-o=json", ...FREE_PORTS]),
    isThere: (output) => output.match(/"event":"problem"|"problems":0/),
  });
  assert.deepEqual([code, signal], [0, null]);
  assert.match(out, /"event":"stopped"\}\n$/);
});

Deno.test("Ctrl-C while diff runs git ends git too", async () => {
  await withFolder({ "a.yaml": manifest("a.example.com") }, async (folder) => {
    const { environment, pidFile } = await stalled(folder, "git");
    const process = spawn(
      "pingress",
      ["diff", "-f", join(folder, "a.yaml"), "--against=git:main"],
      environment,
    );
    let git = 0;
    const { code, signal, out } = await interrupt({
      process,
      isThere: async () => git = await writtenPid(pidFile),
    });
    assert.deepEqual({ code, signal, out }, { ...BY_CODE, out: "" });
    await isGone(git);
  });
});

Deno.test("Ctrl-C while the program of a kubeconfig runs ends that too", async () => {
  await withFolder({}, async (folder) => {
    const { environment, pidFile } = await stalled(folder, "aws");
    const kubeconfig = join(folder, "kubeconfig");
    await Deno.writeTextFile(kubeconfig, kubeconfigText("https://127.0.0.1:1"));
    for (const command of ["status", "check"]) {
      await Deno.remove(pidFile).catch(() => {});
      const process = spawn("pingress", [command, `--kubeconfig=${kubeconfig}`], environment);
      let program = 0;
      const { code, signal, out } = await interrupt({
        process,
        isThere: async () => program = await writtenPid(pidFile),
      });
      assert.deepEqual({ code, signal, out }, { ...BY_CODE, out: "" }, command);
      await isGone(program);
    }
  });
});

Deno.test("Ctrl-C while nobody answers at the address of the API server", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await withFolder({}, async (folder) => {
    const kubeconfig = join(folder, "kubeconfig");
    const server = `https://127.0.0.1:${listener.addr.port}`;
    await Deno.writeTextFile(kubeconfig, kubeconfigText(server, { token: "t" }));
    for (
      const args of [
        ["check"],
        ["status"],
        ["status", "--watch"],
        ["lint", "--context=a"],
        ["explain", "--cluster", "http://a.example.com/"],
        ["diff", "-f", EXAMPLES, "--against=cluster"],
      ]
    ) {
      const process = spawn("pingress", [...args, `--kubeconfig=${kubeconfig}`]);
      const accepted: Deno.Conn[] = [];
      const { code, signal, out } = await interrupt({
        process,
        // Before a byte of the handshake is answered.
        isThere: async () => void accepted.push(await listener.accept()),
      });
      for (const connection of accepted) connection.close();
      assert.deepEqual({ code, signal, out }, { ...BY_SIGNAL, out: "" }, args.join(" "));
    }
  });
});

/** A program first on PATH that notes its process id, and then does nothing. */
async function stalled(folder: string, name: string) {
  const bin = join(folder, "bin");
  const pidFile = join(folder, "pid");
  await Deno.mkdir(bin);
  await Deno.writeTextFile(
    join(bin, name),
    `#!/bin/sh\necho $$ >'${pidFile}'\nexec sleep 1000\n`,
    { mode: 0o755 },
  );
  return { environment: { PATH: `${bin}${delimiter}${Deno.env.get("PATH")}` }, pidFile };
}

const EXEC = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "aws",
  interactiveMode: "Never",
};

function kubeconfigText(
  server: string,
  user: Readonly<Record<string, unknown>> = { exec: EXEC },
): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "a", cluster: { server, "insecure-skip-tls-verify": true } }],
    users: [{ name: "a", user }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    "current-context": "a",
  });
}
