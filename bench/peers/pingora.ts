/**
 * Pingora, by a small program of our own (`pingora/`), which cargo builds once: what it has built is
 * kept in the user's cache, by the hash of its sources.
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { Child, run, versionOf } from "../child.ts";
import { findInstalled, type Found } from "../found.ts";
import { cacheFolder } from "./cache.ts";
import { isPlain } from "./plain.ts";
import type { Peer, Setup } from "../model.ts";

const SOURCES = new URL("pingora", import.meta.url).pathname;
const FILES = ["Cargo.toml", "Cargo.lock", "src/main.rs"];
const NEEDED = "cargo of Rust 1.95, gcc, pkg-config and libssl-dev";

export const PINGORA: Peer = {
  name: "pingora",
  async find(build: boolean): Promise<Found> {
    const program = await programPath();
    if (await versionOf([program, "--version"]) !== null) {
      return await findInstalled([program, "--version"], "");
    }
    if (!build) {
      return { kind: "left out", why: "it is not built yet; deno task bench without --quick does" };
    }
    if (await versionOf(["cargo", "--version"]) === null) {
      return { kind: "missing", remedy: "cargo is not installed (remedy: install Rust 1.95)" };
    }
    console.log("building pingora, for some minutes");
    try {
      await buildTo(program);
    } catch (error) {
      const [line] = (error as Error).message.match(/^error.*$/m) ?? ["it failed"];
      return { kind: "missing", remedy: `cargo: ${line} (remedy: install ${NEEDED})` };
    }
    return await findInstalled([program, "--version"], "what was built does not run");
  },
  can: isPlain,
  async start({ listen, backend, workers, tls, upstream }: Setup): Promise<Child> {
    return Child.start([
      await programPath(),
      ...[formatAddress(listen), formatAddress(backend), String(workers)],
      ...(upstream === "grpc" ? ["--grpc"] : []),
      ...(tls === null ? [] : ["--tls", tls.chain, tls.key]),
    ]);
  },
};

async function programPath(): Promise<string> {
  const hash = createHash("sha256");
  for (const file of FILES) hash.update(await Deno.readFile(join(SOURCES, file)));
  return join(cacheFolder(), `pingora-${hash.digest("hex").slice(0, 16)}`);
}

/** Throws with what cargo said. */
async function buildTo(program: string): Promise<void> {
  const target = join(cacheFolder(), "target");
  await run([
    ...["nice", "-n", "19", "cargo", "build", "--release", "--locked"],
    ...["--manifest-path", join(SOURCES, "Cargo.toml"), "--target-dir", target],
  ]);
  await Deno.copyFile(join(target, "release", "pingora-peer"), program);
  // Half a gigabyte that is of no use any more.
  await Deno.remove(target, { recursive: true });
}
