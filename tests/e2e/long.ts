/**
 * `deno task e2e:long`: the promises in their long forms. In: which of them. Out: their figures, on
 * standard output and in `docs/promises.md`. The exit code is 1 where one is broken.
 */
import { describeMachine } from "../../bench/machine.ts";
import { replaceMarked } from "../../bench/page.ts";
import { defineOptions, parseOptions } from "../../shared/options.ts";
import { startNodeCluster } from "./cluster/node_cluster.ts";
import type { Finding } from "./promises/finding.ts";
import { formatFindings, PROMISES_BEGIN } from "./promises/page.ts";
import { PROMISES } from "./promises/promises.ts";
import { Scene } from "./promises/scene.ts";

const OPTIONS = defineOptions({
  only: {
    type: "string",
    value: "TEXT",
    repeatable: true,
    help: "Only promises whose title has this text; those that change proxies come last.",
  },
  form: {
    type: "choice",
    choices: ["long", "short"],
    default: "long",
    help: "How much of each is tried.",
  },
  write: {
    type: "string",
    value: "FILE",
    help: "Also writes the figures into this page, between its markers: docs/promises.md.",
  },
});

interface Run {
  readonly form: "short" | "long";
  readonly only: readonly string[];
  readonly write: string | undefined;
}

/** The promises that are broken; a failure of the tests themselves is one too. */
async function main({ form, only, write }: Run): Promise<string[]> {
  const cluster = await startNodeCluster("promises", { nodes: 2 });
  if (cluster === null) return [];
  await using _ = cluster;
  const scene = await cluster.explain(() => Scene.open(cluster));
  const chosen = PROMISES.filter(({ title }) =>
    only.length === 0 || only.some((text) => title.includes(text))
  );
  const findings: Finding[] = [];
  const broken: string[] = [];
  for (const { title, run } of chosen) {
    console.log(`--- ${title}`);
    try {
      const finding = await cluster.explain(() => run(scene, form));
      console.log(String(finding));
      findings.push(finding);
      broken.push(...finding.broken.map((line) => `${title}: ${line}`));
    } catch (error) {
      console.log(error instanceof Error ? error.message : error);
      broken.push(`${title}: could not be tried`);
    }
  }
  if (write !== undefined) await writePage(write, scene, form, findings);
  return broken;
}

async function writePage(
  file: string,
  { cluster }: Scene,
  form: "short" | "long",
  findings: readonly Finding[],
): Promise<void> {
  const { gitVersion } = (await cluster.request("GET", "/version")).body;
  const facts = [
    `${await describeMachine()}; Kubernetes ${gitVersion}`,
    `two nodes, control plane, applications and clients on this one machine`,
    `${form} forms, load average of the last five minutes ${Deno.loadavg()[1].toFixed(1)}`,
  ];
  const date = new Date().toISOString().slice(0, 10);
  const page = await Deno.readTextFile(file);
  const written = replaceMarked(page, PROMISES_BEGIN, formatFindings(date, facts, findings));
  if (written === null) throw new Error(`${file} has no place for results`);
  await Deno.writeTextFile(file, written);
  console.log(`wrote ${file}`);
}

const parsed = parseOptions(
  {
    name: "deno task e2e:long",
    summary: "Tries at length on a real cluster what Pingress promises.",
  },
  OPTIONS,
  Deno.args,
);
if (parsed.kind === "ok") {
  const broken = await main(parsed.options);
  for (const line of broken) console.log(`broken: ${line}`);
  if (broken.length > 0) Deno.exit(1);
} else {
  console[parsed.kind === "help" ? "log" : "error"](parsed.text);
  if (parsed.kind === "error") Deno.exit(2);
}
