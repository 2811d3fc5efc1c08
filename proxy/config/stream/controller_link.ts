/**
 * The way to the controller. In: where it is, and what to say. Out: the lines of one stream after
 * the other, for as long as the proxy runs: whatever goes wrong is logged once, and tried again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../shared/log.ts";
import { ALIVE_INTERVAL_MS, CONTROLLER_SILENCE_MS } from "../../../shared/stream/protocol.ts";
import type { ControllerAddress, CredentialFiles } from "./controller_address.ts";
import { ControllerStream, type StreamTimes } from "./controller_stream.ts";
import { readCredentials, readToken } from "./credentials.ts";
import type { LinkFailure } from "./failure.ts";
import { ConnectPatience, ReconnectPace } from "./backoff.ts";
import type { Secret } from "../../../shared/redacted.ts";

export interface LinkTimes extends StreamTimes {
  /** From one word that the proxy is alive to the next, in ms. */
  readonly alive: number;
}

export const LINK_TIMES: LinkTimes = {
  connect: 2_000,
  head: 3_000,
  silence: CONTROLLER_SILENCE_MS,
  alive: ALIVE_INTERVAL_MS,
};

/** What is said and heard over the link. */
export interface LinkUser {
  /** The first line of a stream, with its end. */
  hello(): string;
  /** What is said from time to time, with its end. */
  alive(token: Secret): string;
  /** One line of the controller. */
  take(line: string): void;
  /** There is no stream any more, or none could be had: for this reason. */
  down(failure: LinkFailure): void;
}

export interface ControllerLinkOptions {
  readonly address: ControllerAddress;
  /** Read anew for each stream: they are replaced while the proxy runs. */
  readonly files: CredentialFiles;
  readonly log: Logger;
  readonly user: LinkUser;
  readonly times?: Partial<LinkTimes>;
  readonly pace?: ReconnectPace;
  /** See `ControllerStreamOptions`. */
  readonly maxLine?: number;
}

export class ControllerLink {
  readonly #options: ControllerLinkOptions;
  readonly #times: LinkTimes;
  readonly #pace: ReconnectPace;
  readonly #patience = new ConnectPatience();
  readonly #stop = new AbortController();
  #stream: ControllerStream | null = null;
  #hasWorked = false;
  /** Keys of failures that were logged since the last stream that worked. */
  #said = new Set<string>();
  #running: Promise<void> | null = null;

  constructor(options: ControllerLinkOptions) {
    this.#options = options;
    this.#times = { ...LINK_TIMES, ...options.times };
    this.#pace = options.pace ?? new ReconnectPace();
  }

  /** Begins; once. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends it. Settles when nothing is open any more. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#stream?.end(STOPPED);
    await this.#running;
  }

  /** Says a line, with its end; nothing where there is no stream. */
  send(line: string): void {
    this.#stream?.send(line);
  }

  /** The stream that is open has brought something of use. */
  worked(): void {
    this.#hasWorked = true;
    this.#patience.reset();
    this.#said.clear();
  }

  /** Ends the stream that is open, and begins another. */
  end(failure: LinkFailure): void {
    this.#stream?.end(failure);
  }

  /** The same for a stream that is of no use, so that the next one may not be either. */
  fail(failure: LinkFailure): void {
    this.#hasWorked = false;
    this.end(failure);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#hasWorked = false;
      const failure = await this.#attempt();
      if (signal.aborted) return;
      this.#options.user.down(failure);
      this.#tell(failure);
      await sleep(this.#pace.next(this.#hasWorked), undefined, { signal }).catch(() => {});
    }
  }

  /** One stream to its end, or to where it could not be had. Never rejects. */
  async #attempt(): Promise<LinkFailure> {
    const { address, files, user, maxLine } = this.#options;
    const credentials = await readCredentials(files);
    if ("key" in credentials) return credentials;
    if (this.#stop.signal.aborted) return STOPPED;
    const patience = this.#patience;
    const { connect, head } = this.#times;
    const opened = await ControllerStream.open({
      address,
      credentials,
      hello: user.hello(),
      times: { ...this.#times, connect: patience.of(connect), head: patience.of(head) },
      signal: this.#stop.signal,
      onOpen: (stream) => this.#stream = stream,
      onLine: (line) => this.#take(line),
      ...(maxLine === undefined ? {} : { maxLine }),
    });
    if (!opened.ok) {
      if (opened.failure.isTimeout) patience.wasTooShort();
      return opened.failure;
    }
    const { stream } = opened;
    const alive = setInterval(() => this.#sayAlive(stream), this.#times.alive);
    try {
      return await stream.ended;
    } finally {
      clearInterval(alive);
      this.#stream = null;
    }
  }

  /** A mistake of ours with what comes ends that stream, and not the proxy. */
  #take(line: string): void {
    const { user, log } = this.#options;
    try {
      user.take(line);
    } catch (error) {
      log.error("Cannot apply a message from the controller", { error });
      this.fail({
        key: "mistake",
        message: "the proxy cannot process its message, which is a bug in the proxy",
        remedy: "report it with the proxy's log; the proxy still follows the configuration files",
      });
    }
  }

  /** Without a token there is nothing to say: the controller ends the stream when it will not do. */
  async #sayAlive(stream: ControllerStream): Promise<void> {
    const token = await readToken(this.#options.files.token);
    if ("key" in token) this.#tell(token);
    else stream.send(this.#options.user.alive(token));
  }

  #tell({ key, message, remedy }: LinkFailure): void {
    const { log, address: { hostname, port } } = this.#options;
    const controller = `${hostname}:${port}`;
    if (this.#hasWorked && key !== "silent") {
      log.info("Stream from the controller ended", { controller, reason: message });
    } else if (!this.#said.has(key)) {
      this.#said.add(key);
      log.warn("No stream from the controller", { controller, reason: message, remedy });
    }
  }
}

const STOPPED: LinkFailure = { key: "stopped", message: "the proxy ends", remedy: "none" };
