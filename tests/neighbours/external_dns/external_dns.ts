/**
 * external-dns with its provider in memory. In: a kubeconfig, and kinds of sources. Out: the records that
 * it would create for what the cluster shows at this moment. Built once from its Go module; `programs/`
 * says which of its dependencies have other versions.
 */
import { join } from "node:path";
import type { OwnProgram } from "../../peers/go_program.ts";
import { freePort } from "../../support/ports.ts";

export const EXTERNAL_DNS: OwnProgram = {
  name: "external_dns",
  sources: join(import.meta.dirname!, "programs"),
};

export interface RecordsOptions {
  /** The path of `EXTERNAL_DNS`. */
  readonly program: string;
  readonly kubeconfig: string;
  /** `ingress`, `gateway-httproute`. */
  readonly sources: readonly string[];
  /** Whose hosts count: `example.com`. */
  readonly zone: string;
}

/** Of its log in JSON. */
interface LogLine {
  readonly level: string;
  readonly msg: string;
}

/**
 * One run of its loop on an empty zone.
 * @returns Lines in order of the alphabet, as `app.example.com A 203.0.113.7`.
 */
export async function plannedRecords(options: RecordsOptions): Promise<string[]> {
  const { program, kubeconfig, sources, zone } = options;
  const { success, stderr } = await new Deno.Command(program, {
    args: [
      "--once",
      `--kubeconfig=${kubeconfig}`,
      ...sources.map((source) => `--source=${source}`),
      "--provider=inmemory",
      `--inmemory-zone=${zone}`,
      `--domain-filter=${zone}`,
      "--registry=noop",
      "--policy=sync",
      "--log-format=json",
      `--metrics-address=127.0.0.1:${freePort()}`,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  const text = new TextDecoder().decode(stderr);
  if (!success) throw new Error(`external-dns: ${text.slice(-1000)}`);
  const lines: LogLine[] = text.split("\n").filter((line) => line.startsWith("{")).map((line) =>
    JSON.parse(line)
  );
  return lines.map(({ msg }) => /^CREATE: (\S+) \d+ IN (\S+) +(\S+) /.exec(msg))
    .filter((match) => match !== null)
    .map(([, name, type, targets]) => `${name} ${type} ${targets}`)
    .sort();
}
