/**
 * `deno task explain DIR URL`: reads the manifests as `deno task dev` does and says which route the
 * URL takes, and why. Exit code 0 where a backend gets it, 1 where the proxy answers itself (404, 503,
 * …), 2 for a wrong command line.
 */
import { translate } from "../controller/translate/translator.ts";
import { EXPLAIN_PROGRAM, parseExplainOptions } from "./options.ts";
import { withAssumedObjects } from "./gateway/assumed_objects.ts";
import { explainUrl } from "./explanation.ts";
import { ManifestFolder, unreadablePath } from "./manifests/folder.ts";
import { makePlan, toTranslateOptions } from "./plan.ts";
import { printable } from "./terminal_text.ts";
import { parseRequestedUrl } from "../shared/path/requested_url.ts";

/** Nothing is dialled here: they only show that a sample backend would be. */
const SAMPLES = [{ address: "127.0.0.1", port: 1 }, { address: "127.0.0.1", port: 2 }];

/** Prints to standard output and error; returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const parsed = parseExplainOptions(args);
  if (parsed.kind !== "ok") {
    (parsed.kind === "help" ? console.log : console.error)(parsed.text);
    return parsed.kind === "help" ? 0 : 2;
  }
  const { paths, url: text, method, headers, pathOptions, sslRedirect } = parsed.options;
  const { plan: options } = parsed.options;
  const url = parseRequestedUrl(text);
  if (url === null) {
    console.error(
      `The last argument, ${JSON.stringify(text)}, is no URL like https://app.example.com/path\n` +
        `${EXPLAIN_PROGRAM.name} --help says what there is`,
    );
    return 2;
  }
  const unreadable = await unreadablePath(paths);
  if (unreadable !== null) {
    console.error(printable(unreadable));
    return 2;
  }
  const manifests = await new ManifestFolder(paths).read();
  const plan = makePlan(manifests, options, () => SAMPLES, null, Date.now);
  const resources = withAssumedObjects(manifests.resources);
  const cluster = translate(resources, null, toTranslateOptions(options), Date.now);
  const explained = explainUrl({
    url,
    method,
    headers,
    manifests,
    plan,
    clusterSnapshot: cluster.snapshot,
    pathOptions,
    sslRedirect,
    gateway: parsed.options.gateway,
    now: Date.now(),
  });
  console.log(explained.text);
  return explained.isForwarded ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
