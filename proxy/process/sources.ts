/**
 * All that snapshots come from. In: the configuration file with its folders, and the controller's
 * stream where there is one. Out: each snapshot that is taken, once; what there is to wait for while
 * there is none; and what people may see of both.
 *
 * The file is the ground: with it, the proxy serves without any controller. The stream is the
 * younger way. `guard.ts` says which of them counts.
 */
import type { Logger } from "../../shared/log.ts";
import type { SnapshotVersion } from "../../shared/snapshot/types.ts";
import type { ProxyMemory } from "../../shared/snapshot/memory.ts";
import type { ControllerOptions } from "../config/stream/controller_address.ts";
import type { Origin } from "../config/guard.ts";
import { ActiveSnapshot, type ActiveSnapshotOptions } from "../config/active_snapshot.ts";
import { FileSource, type LoadResult } from "../config/file_source.ts";
import type { ScrapedStream } from "../config/stream/stream_stats.ts";
import {
  StreamSource,
  type StreamSourceOptions,
  type StreamState,
} from "../config/stream/stream_source.ts";

export interface SnapshotSourcesOptions {
  readonly file: string;
  readonly watch: readonly string[];
  readonly clusterDomain: string;
  /** In percent of the routes in force; 0 for no limit. */
  readonly maxRouteLoss: number;
  /** What a snapshot must fit; null without a limit. */
  readonly memory?: ProxyMemory | null;
  /** Null for files alone. */
  readonly controller: ControllerOptions | null;
  readonly log: Logger;
  /** As `ActiveSnapshotOptions` has it. */
  readonly apply: ActiveSnapshotOptions["apply"];
  /** Told of each snapshot that is refused or stays incomplete, for counters. */
  readonly onRefused: () => void;
  /** Told what is waited for while there is none. */
  readonly onNone: (reason: string) => void;
  /** Told of the zone that the controller knows for this proxy's node. */
  readonly onZone: (zone: string) => void;
  /** Sockets that cannot be opened for what is in force, for the controller; none by default. */
  readonly obstacles?: StreamSourceOptions["obstacles"];
  /** How the stream behaves, in tests. */
  readonly stream?: Partial<Pick<StreamSourceOptions, "times" | "pace" | "maxLine">>;
}

/** For people: what is in force, and where it comes from. No secret is in it. */
export interface ConfigurationState {
  readonly origin: Origin | null;
  readonly version: SnapshotVersion | null;
  /** Content hash, as the controller has it. */
  readonly hash: string | null;
  /** How long it has been in force, in ms. */
  readonly age: number | null;
  readonly file: string;
  /** Null without a controller. */
  readonly stream: StreamState | null;
}

export class SnapshotSources {
  readonly #options: SnapshotSourcesOptions;
  readonly #inForce: ActiveSnapshot;
  readonly #files: FileSource;
  readonly #stream: StreamSource | null;
  /** Why there is nothing yet, by where it might come from. */
  readonly #lacks = { file: "", stream: "" };

  constructor(options: SnapshotSourcesOptions) {
    this.#options = options;
    const { controller, maxRouteLoss, memory = null, log, apply, onRefused, onZone } = options;
    const { obstacles = () => [] } = options;
    const hasStream = controller !== null;
    this.#inForce = new ActiveSnapshot({ maxRouteLoss, hasStream, memory, apply });
    this.#files = new FileSource({
      file: options.file,
      watch: options.watch,
      clusterDomain: options.clusterDomain,
      log,
      objectionTo: (snapshot) => this.#inForce.objectionToFile(snapshot),
      onSnapshot: (snapshot) => this.#inForce.takeFile(snapshot),
      onRefused,
      onNone: (reason) => this.#lack("file", reason),
      // Whoever names folders to watch, or a controller, says that files come and go.
      awaitFile: options.watch.length > 0 || hasStream,
    });
    this.#stream = controller === null ? null : new StreamSource({
      address: controller.address,
      files: { ca: controller.ca, token: controller.token },
      inForce: this.#inForce,
      log,
      onRefused,
      onZone,
      obstacles,
      onDown: (reason) => this.#lack("stream", reason),
      ...options.stream,
    });
  }

  /** Resolves once a snapshot is in force. */
  get first(): Promise<void> {
    return this.#inForce.first;
  }

  /** Reads the file for the first time; what `apply` throws is thrown here. */
  async load(): Promise<LoadResult> {
    const loaded = await this.#files.load();
    // What is wrong with the file, the stream may do without.
    return loaded.ok || this.#stream === null ? loaded : { ...loaded, waits: true };
  }

  /** Begins to follow both, after `load`. */
  start(): void {
    this.#files.start();
    this.#stream?.start();
  }

  /** `obstacles` may be others now. */
  socketsChanged(): void {
    this.#stream?.socketsChanged();
  }

  /** Nothing is applied after it. Settles when nothing is open any more. */
  async stop(): Promise<void> {
    await Promise.all([this.#files.stop(), this.#stream?.stop()]);
  }

  get state(): ConfigurationState {
    const { applied, version, hash } = this.#inForce;
    return {
      origin: applied?.origin ?? null,
      version,
      hash,
      age: this.#inForce.age,
      file: this.#options.file,
      stream: this.#stream?.state ?? null,
    };
  }

  /** For metrics: whether what came last from a source was rejected, so that something older is active. */
  get refused(): Readonly<Record<string, boolean>> {
    const file = this.#files.isRefused;
    return this.#stream === null ? { file } : { file, stream: this.#stream.state.refused !== null };
  }

  /** For metrics; null without a controller. */
  get scraped(): ScrapedStream | null {
    return this.#stream?.figures.scraped ?? null;
  }

  #lack(from: "file" | "stream", reason: string): void {
    this.#lacks[from] = reason;
    if (this.#inForce.current !== null) return;
    const { file, stream } = this.#lacks;
    this.#options.onNone(
      this.#stream === null
        ? file
        : `the file: ${file || "it has not been read"}; the controller: ${stream || CONNECTING}`,
    );
  }
}

const CONNECTING = "it has sent none yet";
