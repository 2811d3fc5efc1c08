/** What an image has of the proxy, made without a registry and started as the image starts it. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { credentialsOf } from "../../shared/credentials/credentials.ts";
import { Backend } from "../../tests/support/backend.ts";
import { filteredSnapshot, upstreamTo, WEB } from "../../tests/support/filtered_routes.ts";
import { ProxyProcess } from "../../tests/support/proxy_process.ts";
import { runCommand } from "../command.ts";
import { bundledProgram, INSTALLED_PROGRAMS } from "../programs.ts";
import { ANALYSES } from "./image.ts";
import type { ModuleGraph } from "./packages.ts";

const ROOT = join(import.meta.dirname!, "../..");

const ID = "test/users auth-file";

/** A registry that cannot be reached. */
const OFFLINE = { NPM_CONFIG_REGISTRY: "https://registry.invalid/" };

async function deno(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, stdout, stderr } = await runCommand(Deno.execPath(), args, {
    cwd,
    env: { ...env, NO_COLOR: "1" },
  });
  equal(code, 0, stderr);
  return stdout;
}

/** The first column of what a query finds. */
function textsOf(database: string, query: string): ReadonlySet<string> {
  using connection = new DatabaseSync(database, { readOnly: true });
  return new Set(connection.prepare(query).all().map((row) => String(Object.values(row)[0])));
}

/** With two workers, and the thread that verifies passwords, which the supervisor starts. */
async function serves(app: string, program: string, cache: string): Promise<void> {
  await using backend = new Backend();
  const filters = [{ kind: "access", basic: { credentials: ID, realm: "" } }] as const;
  const snapshot = {
    ...filteredSnapshot({ a: { filters }, open: {} }, [upstreamTo(WEB, [backend.port])]),
    credentials: [credentialsOf(ID, "1", "bob:{PLAIN}secret\n")],
  };
  const variables = Object.entries({ ...OFFLINE, DENO_DIR: cache });
  await using proxy = await ProxyProcess.start({
    snapshot,
    root: app,
    program,
    wrapper: ["env", ...variables.map((each) => each.join("="))],
    args: ["--workers=2", "--allow-loopback-upstreams"],
  });
  const statusOf = async (path: string, login: string) => {
    const response = await fetch(`http://127.0.0.1:${proxy.httpPort}${path}`, {
      headers: { authorization: `Basic ${btoa(login)}` },
    });
    await response.body?.cancel();
    return response.status;
  };
  equal(await statusOf("/open", "bob:wrong"), 200);
  equal(await statusOf("/a", "bob:wrong"), 401);
  equal(await statusOf("/a", "bob:secret"), 200);
  // Loaded at the first request, when the supervisor may read nothing but its configuration.
  const explanation = await proxy.admin("/explain?url=http://a.test/open");
  match(explanation.text, /^Route: \* Prefix \/open$/m);
}

Deno.test("an image is made offline from packages, without registry metadata", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const [app, made, packages, cache] = ["app", "deno-dir", "packages", "cache"]
      .map((name) => join(folder, name));
    const program = INSTALLED_PROGRAMS.find(({ name }) => name === "proxy")!;
    const entries = ["tools/bundle/image.ts", ...program.entries];
    const graphs: ModuleGraph[] = await Promise.all(
      entries.map(async (entry) => JSON.parse(await deno(["info", "--json", entry], ROOT))),
    );
    for (
      const { name, version, localPath } of graphs.flatMap((graph) =>
        Object.values(graph.npmPackages)
      )
    ) {
      // Packages for other platforms are listed, and not there.
      if (!existsSync(localPath)) continue;
      const target = join(cache, "npm", "registry.invalid", name, version);
      cpSync(localPath, target, { recursive: true });
    }
    const folders = [`--app=${app}`, `--cache=${made}`, `--packages=${packages}`];
    const rights = [
      "--allow-read",
      `--allow-write=${app},${made},${packages}`,
      "--allow-env",
      "--allow-run",
    ];
    await deno(
      ["run", "--no-prompt", ...rights, entries[0], ...folders, program.entries[0]],
      ROOT,
      { ...OFFLINE, DENO_DIR: cache },
    );
    const bundled = bundledProgram(program).entries;
    for (const entry of bundled) ok(existsSync(join(app, entry)), entry);
    match(await Deno.readTextFile(join(app, "THIRD_PARTY_LICENSES")), /^hash-wasm \d/m);
    // Without one of these, Deno cannot use the database where it may not write.
    const database = join(made, ANALYSES);
    for (const suffix of ["-wal", "-shm"]) ok(existsSync(`${database}${suffix}`), suffix);
    ok(textsOf(database, "SELECT tbl FROM sqlite_stat1").size > 0);
    const known = textsOf(database, "SELECT specifier FROM moduleinfocache");
    const files = Array.from(Deno.readDirSync(join(app, "program")), ({ name }) => name);
    const urlOf = (name: string) => pathToFileURL(join(app, "program", name)).href;
    deepEqual(files.filter((name) => !known.has(urlOf(name))), []);
    await serves(app, bundled[0], made);
    await serves(app, bundled[0], join(folder, "none"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
