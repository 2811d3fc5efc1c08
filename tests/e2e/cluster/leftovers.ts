/**
 * What a cluster may leave on the machine that it ran on. In: its folder. Out: one line for each
 * thing; none once it has been taken away.
 */

/** Mounts, interfaces, routes, rules of iptables and processes. */
export async function leftovers(run: string): Promise<string[]> {
  const mounts = (await Deno.readTextFile("/proc/mounts")).split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${run}/`));
  const interfaces = [...Deno.readDirSync("/sys/class/net")]
    .map(({ name }) => name)
    .filter((name) => name === "pingress0");
  const rules = await Promise.all(["iptables-save", "ip6tables-save"].map(rulesOf));
  return [
    ...mounts.map((path) => `mount ${path}`),
    ...interfaces.map((name) => `interface ${name}`),
    ...(await routes()).map((route) => `route ${route}`),
    ...rules.flat().map((rule) => `rule ${rule}`),
    ...processes().filter(({ line }) => line.includes(`${run}/`)).map(({ line }) => line),
    ...podProcesses(),
  ];
}

/** Command lines of what runs in pods. */
export function podProcesses(): string[] {
  return processes().filter(({ isInPod }) => isInPod).map(({ line }) => line);
}

/** Of pods that are gone; those of pods go with their interfaces. */
async function routes(): Promise<string[]> {
  const { stdout } = await new Deno.Command("ip", { args: ["route"] }).output();
  return new TextDecoder().decode(stdout).split("\n").filter((route) =>
    route.startsWith("unreachable 10.88.")
  );
}

async function rulesOf(program: string): Promise<string[]> {
  const { stdout } = await new Deno.Command(program).output();
  return new TextDecoder().decode(stdout).split("\n").filter((rule) => /KUBE-|CNI-/.test(rule));
}

function processes(): { readonly line: string; readonly isInPod: boolean }[] {
  return [...Deno.readDirSync("/proc")].flatMap(({ name }) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const line = Deno.readTextFileSync(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim();
      // Containers of containerd's namespace for Kubernetes have a control group below this one.
      const isInPod = Deno.readTextFileSync(`/proc/${name}/cgroup`).includes("/k8s.io/");
      // One that has ended, and that nobody has waited for, has no command line.
      return line === "" ? [] : [{ line, isInPod }];
    } catch {
      return []; // It has ended in the meantime.
    }
  });
}
