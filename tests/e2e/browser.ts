/**
 * Headless Chromium. In: an address, and an authority to trust. Out: the document once it is loaded,
 * as the browser would serialise it.
 */
import assert from "node:assert/strict";
import { join } from "node:path";

/** How long the browser may take, in ms. */
const PATIENCE = 60_000;

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome"];

export interface BrowserOptions {
  /** A PEM file with an authority that is trusted beside the system's; null to trust any server. */
  readonly authority: string | null;
}

/** The first of the browser's names that can be started; null, and said so, where there is none. */
export async function findBrowser(test: string): Promise<string | null> {
  for (const program of PROGRAMS) if (await isInstalled(program, ["--version"])) return program;
  return skip(test, "chromium", "chromium");
}

/** Whether a store of authorities can be made; where not, says so. */
export async function canTrust(test: string): Promise<boolean> {
  return await isInstalled("certutil", ["-H"]) || skip(test, "certutil", "libnss3-tools") !== null;
}

/** The document of `url` when it and all that it shows is loaded. */
export async function dumpDom(
  browser: string,
  url: string,
  { authority }: BrowserOptions,
): Promise<string> {
  const home = await Deno.makeTempDir();
  try {
    if (authority !== null) await trust(home, authority);
    const { code, stdout, stderr } = await new Deno.Command(browser, {
      args: [
        ...flagsFor(home),
        ...(authority === null ? ["--ignore-certificate-errors"] : []),
        "--host-resolver-rules=MAP *.example.com 127.0.0.1",
        "--dump-dom",
        url,
      ],
      env: await environmentFor(home),
      signal: AbortSignal.timeout(PATIENCE),
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert.equal(code, 0, `${text}\n${new TextDecoder().decode(stderr)}`);
    return text;
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const NO_NETLINK = new URL("./no_netlink.c", import.meta.url).pathname;

/**
 * Of a browser that does not notice network interfaces that come and go (`no_netlink.c`). Without a C
 * compiler it does, which matters where pods of other tests come and go.
 */
export async function environmentFor(home: string): Promise<Record<string, string>> {
  if (Deno.build.os !== "linux" || !await isInstalled("gcc", ["--version"])) return { HOME: home };
  const library = join(home, "no_netlink.so");
  const { success, stderr } = await new Deno.Command("gcc", {
    args: ["-shared", "-fPIC", "-o", library, NO_NETLINK],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return { HOME: home, LD_PRELOAD: library };
}

/** Of a browser that keeps all it has in a folder, and speaks to nobody by itself. */
export function flagsFor(home: string): string[] {
  return [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    `--user-data-dir=${join(home, "profile")}`,
    "--no-proxy-server",
  ];
}

/** Chromium on Linux reads its authorities from the NSS store of the home folder. */
export async function trust(home: string, authority: string): Promise<void> {
  const store = join(home, ".pki", "nssdb");
  await Deno.mkdir(store, { recursive: true });
  const run = async (args: readonly string[]) => {
    const { success, stderr } = await new Deno.Command("certutil", {
      args: ["-d", `sql:${store}`, ...args],
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  };
  await run(["-N", "--empty-password"]);
  await run(["-A", "-n", "test", "-t", "C,,", "-i", authority]);
}

async function isInstalled(program: string, args: string[]): Promise<boolean> {
  try {
    await new Deno.Command(program, { args, stdout: "null", stderr: "null" }).output();
    return true;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

/** In CI nothing is skipped. */
function skip(test: string, program: string, debianPackage: string): null {
  const remedy = `${program} is not installed (remedy: apt-get install ${debianPackage})`;
  if (Deno.env.get("CI") === "true") throw new Error(remedy);
  console.log(`skipped: ${test}: ${remedy}`);
  return null;
}
