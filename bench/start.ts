/**
 * A proxy that is ready to be measured. In: a peer, a case, the backend. Out: its running program,
 * which has been seen to answer right.
 */
import { type Backend } from "./backend.ts";
import { freePort } from "./child.ts";
import { type TlsFiles } from "./tls.ts";
import { verify } from "./verify.ts";
import type { Case, Peer, Running, Setup } from "./model.ts";

export interface Surroundings {
  readonly backend: Backend;
  readonly tls: TlsFiles;
  /** For what programs need to write; gets a folder for each proxy. */
  readonly folder: string;
}

/** What the peer is started with for a case; makes its folder. */
export async function setupFor(
  peer: Peer,
  what: Case,
  surroundings: Surroundings,
): Promise<Setup> {
  const prefix = `${what.name}-${peer.name}-`;
  const folder = await Deno.makeTempDir({ dir: surroundings.folder, prefix });
  // Programs that drop root's rights must be able to pass.
  await Deno.chmod(folder, 0o755);
  return {
    listen: { hostname: "127.0.0.1", port: freePort() },
    backend: await surroundings.backend.addressFor(what),
    folder,
    workers: what.workers,
    tls: what.tls ? surroundings.tls : null,
    http: what.http,
    upstream: what.upstream,
    routes: what.routes ?? 1,
    endpoints: what.endpoints ?? 1,
    accessLog: what.accessLog ?? false,
    traceRatio: what.traceRatio ?? 0,
    reloads: what.beside !== undefined,
  };
}

/** Throws, with nothing left running, where it does not start or answers wrong. */
export async function startPeer(
  peer: Peer,
  what: Case,
  surroundings: Surroundings,
): Promise<Running> {
  const setup = await setupFor(peer, what, surroundings);
  const child = await named(peer, what, peer.start(setup));
  // Where it does not answer, this ends it.
  await named(peer, what, child.listening(setup.listen));
  const target = { address: setup.listen, tls: setup.tls };
  try {
    await named(peer, what, verify(target, what));
  } catch (error) {
    await child.stop();
    throw error;
  }
  return { peer, child, setup, target };
}

/** The promise, with the names of case and peer before its error. */
export async function named<T>(peer: Peer, what: Case, promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } catch (error) {
    throw new Error(`${what.name} through ${peer.name}: ${(error as Error).message}`);
  }
}
