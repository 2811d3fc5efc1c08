/**
 * What a process uses. In: its id. Out: the CPU time of all its threads, and its memory, as Linux
 * counts them in `/proc`.
 */

export interface ProcessMemory {
  /** Resident now, in bytes. */
  readonly resident: number;
  /** The most that was ever resident, in bytes. */
  readonly peak: number;
}

/** Linux counts CPU and start times in hundredths of a second whatever the kernel's own tick is. */
const TICK = 10;

/** CPU time since the start, in user and kernel, in ms. Throws where the process has ended. */
export function cpuTime(pid: number): number {
  const fields = statOf(pid);
  return (Number(fields[11]) + Number(fields[12])) * TICK;
}

/** Time since the process was started, in ms, by 10. Throws where it has ended. */
export function ageOf(pid: number): number {
  const [uptime] = Deno.readTextFileSync("/proc/uptime").split(" ");
  return Number(uptime) * 1000 - Number(statOf(pid)[19]) * TICK;
}

/** Fields of `/proc/PID/stat` after the name, which may hold spaces and parentheses. */
function statOf(pid: number): string[] {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** Throws where the process has ended. */
export function memoryOf(pid: number): ProcessMemory {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  const kibibytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]);
  return { resident: kibibytes("VmRSS") * 1024, peak: kibibytes("VmHWM") * 1024 };
}

/** Between two looks, in ms. */
const LOOK = 200;

/**
 * Waits until the process does next to nothing, in several looks one after the other, or until
 * `patience` ms are over; whether it came to rest.
 */
export async function atRest(pid: number, patience: number): Promise<boolean> {
  const end = performance.now() + patience;
  let before = cpuTime(pid);
  for (let calm = 0; calm < 3;) {
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, LOOK));
    const now = cpuTime(pid);
    calm = now - before <= TICK ? calm + 1 : 0;
    before = now;
  }
  return true;
}
