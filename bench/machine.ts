/** Where the benchmark runs. In: nothing. Out: a line that tells machines apart, without names. */

/** `2 cores, Intel Xeon; Deno 2.9.6`. */
export async function describeMachine(): Promise<string> {
  const text = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  const model = plainModel(/^model name\s*:\s*(.*)$/m.exec(text)?.[1] ?? Deno.build.arch);
  return `${navigator.hardwareConcurrency} cores, ${model}; Deno ${Deno.version.deno}`;
}

/** `Intel(R) Xeon(R) Processor @ 2.60GHz` → `Intel Xeon`. */
export function plainModel(model: string): string {
  return model.replace(/\((R|TM)\)|\b(Processor|CPU)\b|@.*$/gi, "").replace(/\s+/g, " ").trim();
}

/** What to think of before the figures, or null on a machine that is at rest. */
export function disturbance(): string | null {
  const [load] = Deno.loadavg();
  return load < 0.5
    ? null
    : `note: the machine is busy (load ${load.toFixed(1)}), so spreads widen`;
}
