/** What a process uses. In: its id. Out: CPU and memory so far, as Linux counts them. */

export interface Usage {
  /** All of its threads, in ms. */
  readonly cpu: number;
  /** Resident, in bytes. */
  readonly rss: number;
}

/** Linux counts CPU in hundredths of a second. */
const TICK = 10;

export async function readUsage(pid: number): Promise<Usage> {
  const [stat, status] = await Promise.all([
    Deno.readTextFile(`/proc/${pid}/stat`),
    Deno.readTextFile(`/proc/${pid}/status`),
  ]);
  // Its name may have spaces; https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [user, system] = [fields[11], fields[12]].map(Number);
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  return { cpu: (user + system) * TICK, rss: Number(kilobytes ?? 0) * 1024 };
}
