/**
 * The controller's end of our proxy's stream, as in a cluster: the server that controllers run, and
 * a token that nobody issues. In: snapshots. Out: they reach the proxy that was started with `flags`.
 */
import { join } from "node:path";
import { type Snapshot } from "../../shared/snapshot/types.ts";
import {
  authority,
  startStream,
  type StreamServerScene,
} from "../../tests/support/stream_server_scene.ts";

export class ControllerStream {
  /** The proxy's, which lead it here. */
  readonly flags: readonly string[];
  readonly #scene: StreamServerScene;

  private constructor(scene: StreamServerScene, flags: readonly string[]) {
    this.#scene = scene;
    this.flags = flags;
  }

  /** Listens on a free port; what the proxy must read goes into `folder`. */
  static async start(folder: string): Promise<ControllerStream> {
    const files = { ca: join(folder, "controller.crt"), token: join(folder, "controller.token") };
    await Deno.writeTextFile(files.ca, authority.certificate);
    await Deno.writeTextFile(files.token, "bench");
    const scene = await startStream();
    return new ControllerStream(scene, [
      `--controller=https://localhost:${scene.server.address.port}`,
      `--controller-ca=${files.ca}`,
      `--controller-token=${files.token}`,
    ]);
  }

  update(snapshot: Snapshot): void {
    this.#scene.server.update(snapshot);
  }

  async stop(): Promise<void> {
    await this.#scene[Symbol.asyncDispose]();
  }
}
