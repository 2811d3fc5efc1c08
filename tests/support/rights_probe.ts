/**
 * Code that has got into a thread of proxy or controller, and tries what it should not. In, by message: where
 * the configuration is, and what to dial. Out, by message: what became of each attempt: `done`, or
 * the name of the error. It imports nothing at its start, so that it can run as a `data:` module
 * wherever there is no right to read files.
 */
/// <reference lib="deno.worker" />

export interface ProbeOrders {
  /** The folder that holds the configuration. */
  readonly folder: string;
  /** The configuration's name there; `snapshot.json` without it. */
  readonly file?: string;
  /** `hostname port`, each to be dialled. */
  readonly dial: readonly string[];
}

/** By what was attempted. */
export type ProbeFindings = Readonly<Record<string, string>>;

self.onmessage = async ({ data }: MessageEvent<ProbeOrders>) => {
  const findings: Record<string, string> = {};
  for (const [what, attempt] of Object.entries(attempts(data))) {
    try {
      const found = await attempt();
      findings[what] = typeof found === "string" ? found : "done";
    } catch (error) {
      findings[what] = nameOf(error);
    }
  }
  self.postMessage(findings);
};

function attempts(
  { folder, file = "snapshot.json", dial }: ProbeOrders,
): Record<string, () => unknown> {
  const dials = dial.map((target): [string, () => Promise<unknown>] => [
    `dial ${target}`,
    async () => {
      const [hostname, port] = target.split(" ");
      const signal = AbortSignal.timeout(2_000);
      (await Deno.connect({ hostname, port: Number(port), signal })).close();
    },
  ]);
  return {
    "read the configuration": () => Deno.readTextFile(`${folder}/${file}`),
    "read /etc/hostname": () => Deno.readTextFile("/etc/hostname"),
    "read above the folder": () => Deno.readTextFile(`${folder}/../../etc/hostname`),
    "read /proc/self/environ": () => Deno.readFile("/proc/self/environ"),
    "list /": () => [...Deno.readDirSync("/")],
    "stat /etc/hostname": () => Deno.stat("/etc/hostname"),
    "watch /etc": () => Deno.watchFs("/etc").close(),
    "read by node:fs": async () => (await import("node:fs")).readFileSync("/etc/hostname"),
    "load code from elsewhere": () => import(["file://", "etc", "hostname.ts"].join("/")),
    "load code from the network": () => import(["https://127.0.0.1:1", "x.ts"].join("/")),
    ...Object.fromEntries(dials),
    "fetch metadata": () => fetch("http://169.254.169.254/latest/meta-data/"),
    "send a datagram": () =>
      Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 }).close(),
    "listen elsewhere": () => Deno.listen({ hostname: "127.0.0.3", port: 0 }).close(),
    "dial a unix socket": () => Deno.connect({ transport: "unix", path: `${folder}/socket` }),
    "write beside the configuration": () => Deno.writeTextFile(`${folder}/new`, ""),
    "write the configuration": () => Deno.writeTextFile(`${folder}/${file}`, "{}"),
    "remove the configuration": () => Deno.remove(`${folder}/${file}`),
    "make a temporary file": () => Deno.makeTempFile(),
    "link to elsewhere": () => Deno.symlink("/etc/hostname", `${folder}/link`),
    "run a program": () => new Deno.Command("true").output(),
    "run by node:child_process": async () =>
      (await import("node:child_process")).execFileSync("touch", [`${folder}/run`]),
    "signal another process": () => Deno.kill(Deno.ppid, "SIGCONT"),
    // Where variables are ignored rather than refused, there seem to be none.
    "read a variable": () => Deno.env.get("HOME") ?? "nothing",
    "read all variables": () => Object.keys(Deno.env.toObject()).join(" ") || "nothing",
    "set a variable": () => {
      Deno.env.set("PROBE", "1");
      return Deno.env.get("PROBE") ?? "nothing";
    },
    "load a library": () => Deno.dlopen("libc.so.6", {}),
    "ask for the host's name": () => Deno.hostname(),
    "ask for network interfaces": () => Deno.networkInterfaces(),
    "get more by asking": async () => {
      for (const name of ["read", "write", "run", "env", "ffi", "sys"] as const) {
        const { state } = await Deno.permissions.request({ name });
        if (state === "granted") return `granted ${name}`;
      }
      return "nothing";
    },
    "get more by a worker": () =>
      new Worker("data:application/javascript,", {
        type: "module",
        deno: { permissions: { read: true } },
      }).terminate(),
  };
}

function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node's modules tell by code what Deno's tell by class, and loading tells by its message.
  if ("code" in error && error.code === "EPERM") return "NotCapable";
  return /^Requires \w+ access to/.test(error.message) ? "NotCapable" : error.name;
}
