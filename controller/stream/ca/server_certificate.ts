/**
 * What one replica presents to proxies. In: the stream's authority, as the API server has it. Out: a
 * serving certificate of our own, renewed in time, and at once when another authority signs.
 *
 * Its key is made here and never leaves the process. Nothing is signed but by an authority that was
 * read a moment ago: a replica that is cut off from the API server goes on with what it has.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/log.ts";
import { isOutage } from "../../kube/answer.ts";
import type { KubeClient } from "../../kube/client.ts";
import { type KubeObject, SECRETS } from "../../kube/types.ts";
import { STREAM } from "../../outputs/workload/names.ts";
import {
  AUTHORITY_TIMES,
  type AuthorityTimes,
  type ServingCertificate,
  type ServingCertificates,
  signerFor,
} from "./certificate_authority.ts";
import { readState, type SecretData } from "./data.ts";
import { issueServing } from "./x509.ts";

/** Milliseconds from one reading to the next, while there is no certificate and after that. */
const FIRST_INTERVAL = 1_000;
const INTERVAL = 60_000;

export interface AuthorityServerOptions {
  readonly client: Pick<KubeClient, "get">;
  readonly namespace: string;
  /** DNS names and IP addresses by which proxies reach it, at least one. */
  readonly names: readonly string[];
  readonly log: Logger;
  readonly clock?: Pick<Clock, "now">;
  readonly times?: AuthorityTimes;
}

export class AuthorityServer implements ServingCertificates {
  readonly #options: AuthorityServerOptions;
  readonly #clock: Pick<Clock, "now">;
  readonly #times: AuthorityTimes;
  readonly #listeners: (() => void)[] = [];
  readonly #stopping = new AbortController();
  #current: ServingCertificate | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: Promise<void> = Promise.resolve();
  /** Why there is no new certificate, as it was said last. */
  #complained = "";

  constructor(options: AuthorityServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#times = options.times ?? AUTHORITY_TIMES;
  }

  get current(): ServingCertificate | null {
    return this.#current;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Reads until it is stopped. */
  start(): void {
    this.#running = this.refresh().catch((error) => {
      // A mistake of ours, or a stored authority of a kind that nobody thought of: the next may do.
      this.#complain(error instanceof Error ? error.message : String(error), false);
    }).then(() => {
      if (this.#stopping.signal.aborted) return;
      const interval = this.#current === null ? FIRST_INTERVAL : INTERVAL;
      this.#timer = setTimeout(() => this.start(), interval);
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** Looks once. Never throws for what the API server says. */
  async refresh(): Promise<void> {
    const { client, namespace, names, log } = this.#options;
    const { signal } = this.#stopping;
    const got = await client.get<KubeObject & { readonly data?: SecretData }>(
      SECRETS,
      namespace,
      STREAM.authority,
      { signal },
    );
    if (signal.aborted) return;
    if (!got.ok) {
      const { code, message } = got.error;
      // An outage tells of itself in many words, and in other lines of the log too.
      return this.#complain(message, code === 404, isOutage(code) ? "outage" : message);
    }
    const now = this.#clock.now();
    const { state, complaints } = readState(got.value.data ?? {}, now, this.#times);
    if (state === null) return this.#complain(complaints.join("; "), got.value.data === undefined);
    this.#complained = "";
    const signer = signerFor(state, this.#current, now, this.#times);
    if (signer === null || signal.aborted) return;
    this.#current = await issueServing(signer, names, now, this.#times);
    log.info("The stream has a new certificate", {
      authority: signer.id.slice(0, 16),
      validTo: new Date(this.#current.validTo).toISOString(),
    });
    for (const listener of this.#listeners) listener();
  }

  /**
   * @param isAwaited that the leader makes it is a matter of moments.
   * @param news What is said once until it is another, or is over.
   */
  #complain(reason: string, isAwaited: boolean, news = reason): void {
    if (news === this.#complained) return;
    this.#complained = news;
    this.#options.log[isAwaited ? "debug" : "warn"]("Cannot read the stream's CA", {
      secret: `${this.#options.namespace}/${STREAM.authority}`,
      reason,
      remedy: "None if it is temporary; the leader creates it, and until then proxies use files",
    });
  }
}
