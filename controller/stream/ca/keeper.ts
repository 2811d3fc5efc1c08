/**
 * Keeps the stream's authority. In: its Secret and its ConfigMap as the API server has them. Out:
 * both made, rotated and put back, step by step. Only the leader calls it.
 *
 * Every write of the Secret names the version that it was made from, so of two who take themselves
 * for the leader one begins anew. What the keys of an authority are lost with, be it a deleted Secret
 * or a damaged one, takes no trust with it: replicas serve by what it has signed.
 */
import { type Clock, systemClock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/log.ts";
import { formatObject, type ObjectRef, type Problem } from "../../../shared/problem.ts";
import type { JobOutcome } from "../../outputs/write/job.ts";
import { FIELD_MANAGER } from "../../kube/client.ts";
import { NOT_LEADING, type WriteClient } from "../../kube/fenced_client.ts";
import {
  ABORTED,
  type ApiError,
  type ApiResult,
  CONFIG_MAPS,
  type KubeObject,
  SECRETS,
} from "../../kube/types.ts";
import { OWNER_LABELS, STREAM } from "../../outputs/workload/names.ts";
import { printable } from "../../outputs/workload/refusal.ts";
import {
  AUTHORITY_TIMES,
  type AuthorityState,
  type AuthorityTimes,
  bundleOf,
  nextStep,
  withNext,
} from "./certificate_authority.ts";
import { obsoleteNames, readBundle, readState, stateData } from "./data.ts";
import { makeSigner } from "./x509.ts";

/** Milliseconds between two looks at what may have been deleted. */
const INTERVAL = 60_000;

/** Steps of one run: more than a rotation has, so that only a quarrel with somebody takes as many. */
const MOST_STEPS = 10;

/** Makes an object where there is none, and sets nothing but labels, so two may do it at once. */
const MAKER = `${FIELD_MANAGER}-maker`;

export interface AuthorityKeeperOptions {
  readonly client: Pick<WriteClient, "get" | "apply" | "patch">;
  readonly namespace: string;
  readonly log: Logger;
  readonly clock?: Pick<Clock, "now">;
  readonly times?: AuthorityTimes;
  /** Milliseconds between two looks. */
  readonly interval?: number;
}

/** The Secret, whose values are base64, or the ConfigMap. */
interface AuthorityObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** Ends a run from within. */
class Failure extends Error {
  constructor(readonly object: ObjectRef, readonly error: ApiError) {
    super(error.message);
  }
}

export class AuthorityKeeper {
  readonly #options: AuthorityKeeperOptions;
  readonly #clock: Pick<Clock, "now">;
  readonly #times: AuthorityTimes;
  #problems: readonly Problem[] = [];
  #hasTried = false;
  /** What was said last of a Secret that cannot be used whole. */
  #complained = "";

  constructor(options: AuthorityKeeperOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#times = options.times ?? AUTHORITY_TIMES;
  }

  /** What keeps the authority from being kept. */
  get problems(): readonly Problem[] {
    return this.#problems;
  }

  /** Whether a run has ended, well or not: proxies need not wait for their trust any more. */
  get hasTried(): boolean {
    return this.#hasTried;
  }

  /** For a new leader: another one may have written since, and tells what is wrong now. */
  forget(): void {
    this.#problems = [];
    this.#complained = "";
  }

  /** Takes all steps that are due. */
  async run(): Promise<JobOutcome> {
    try {
      const until = await this.#takeSteps();
      this.#problems = [];
      const after = Math.min(this.#options.interval ?? INTERVAL, until - this.#clock.now());
      return { kind: "again", after: Math.max(1, after) };
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      const { object, error } = failure;
      // Whoever leads sees to it; a read is abandoned only when we stop, before this job is told.
      if (error.reason === NOT_LEADING || error.reason === ABORTED) return { kind: "idle" };
      this.#problems = problemsOf(object, error);
      return { kind: "failed", reason: error.message, retryAfter: error.retryAfter };
    } finally {
      this.#hasTried = true;
    }
  }

  /** Until when there is nothing more to do, in ms since the epoch. */
  async #takeSteps(): Promise<number> {
    const { log } = this.#options;
    for (let steps = 0; steps < MOST_STEPS; steps++) {
      const secret = await this.#getSecret();
      const bundle = await this.#getBundle();
      const now = this.#clock.now();
      const { state, trusted, complaints } = secret === null
        ? { state: null, trusted: [], complaints: [] }
        : readState(secret.data ?? {}, now, this.#times);
      const published = bundle === null ? null : readBundle(bundle);
      const ids = published === null ? null : new Set(published.map(({ id }) => id));
      if (secret?.data !== undefined) this.#complain(complaints);
      const step = nextStep(state, ids, now, this.#times);
      // Once what they tell is stored elsewhere.
      const isOver = step.kind === "wait" && obsoleteNames(secret!.data ?? {}, state!).length > 0;
      if (isOver) {
        await this.#store(state!, secret);
        continue;
      }
      if (step.kind === "wait") return step.until;
      if (step.kind === "publish") {
        await this.#publish(state!);
        continue;
      }
      if (step.kind === "store") {
        if (await this.#store(step.state, secret)) {
          log.info("The rotation of the stream's CA advanced", { what: step.what });
        }
        continue;
      }
      const next = await makeSigner(now, this.#times);
      const made = withNext(state, next, [...trusted, ...published ?? []], now, this.#times);
      if (await this.#store(made, secret)) {
        log.info("The stream has a new CA, which signs once all proxies trust it", {
          kept: made.retired.length,
        });
      }
    }
    throw new Failure(this.#refTo(SECRETS.kind), QUARREL);
  }

  #complain(complaints: readonly string[]): void {
    const reason = complaints.join("; ");
    if (reason !== "" && reason !== this.#complained) {
      this.#options.log.warn("The Secret with the stream's CA is invalid", {
        secret: `${this.#options.namespace}/${STREAM.authority}`,
        reason,
        remedy: "None: unusable parts are created again, and proxies continue to trust the rest",
      });
    }
    this.#complained = reason;
  }

  /** False where somebody else has changed it meanwhile: look again. */
  async #store(state: AuthorityState, secret: AuthorityObject | null): Promise<boolean> {
    const { client } = this.#options;
    const version = secret?.metadata.resourceVersion ?? await this.#claim();
    if (version === null) return false;
    const object = this.#object(stateData(state));
    const applied = await client.apply<AuthorityObject>(SECRETS, object, {
      resourceVersion: version,
    });
    if (!applied.ok && applied.error.code === 409) return false;
    return await this.#clear(this.#valueOf(SECRETS.kind, applied), state);
  }

  /** Takes away what a state does not have and applying it has left. False as in `#store`. */
  async #clear({ metadata, data = {} }: AuthorityObject, state: AuthorityState): Promise<boolean> {
    const { client, namespace, log } = this.#options;
    const obsolete = obsoleteNames(data, state);
    if (obsolete.length === 0) return true;
    const { resourceVersion } = metadata;
    const patch = {
      data: Object.fromEntries(obsolete.map((name) => [name, null])),
      metadata: { resourceVersion },
    };
    const patched = await client.patch(SECRETS, namespace, STREAM.authority, patch, {
      type: "merge",
    });
    if (!patched.ok && patched.error.code === 409) return false;
    this.#valueOf(SECRETS.kind, patched);
    log.info("Removed data of an old CA that another field manager had kept", {
      secret: `${namespace}/${STREAM.authority}`,
      names: obsolete,
    });
    return true;
  }

  /** Makes an empty Secret. Its version, or null where somebody has filled it by now. */
  async #claim(): Promise<string | null> {
    const { client } = this.#options;
    const applied = await client.apply<AuthorityObject>(SECRETS, this.#object(), {
      fieldManager: MAKER,
    });
    const { data, metadata } = this.#valueOf(SECRETS.kind, applied);
    return data === undefined ? metadata.resourceVersion! : null;
  }

  async #publish(state: AuthorityState): Promise<void> {
    const { client } = this.#options;
    const object = this.#object({ [STREAM.bundleKey]: bundleOf(state) });
    const applied = await client.apply(CONFIG_MAPS, object);
    this.#valueOf(CONFIG_MAPS.kind, applied);
  }

  async #getSecret(): Promise<AuthorityObject | null> {
    const { client, namespace } = this.#options;
    const got = await client.get<AuthorityObject>(SECRETS, namespace, STREAM.authority);
    return !got.ok && got.error.code === 404 ? null : this.#valueOf(SECRETS.kind, got);
  }

  /** The published text. */
  async #getBundle(): Promise<string | null> {
    const { client, namespace } = this.#options;
    const got = await client.get<AuthorityObject>(CONFIG_MAPS, namespace, STREAM.authority);
    if (!got.ok && got.error.code === 404) return null;
    return this.#valueOf(CONFIG_MAPS.kind, got).data?.[STREAM.bundleKey] ?? null;
  }

  #valueOf<T>(kind: string, result: ApiResult<T>): T {
    if (result.ok) return result.value;
    throw new Failure(this.#refTo(kind), result.error);
  }

  #object(data?: AuthorityObject["data"]): AuthorityObject {
    const { namespace } = this.#options;
    const metadata = { name: STREAM.authority, namespace, labels: OWNER_LABELS };
    return data === undefined ? { metadata } : { metadata, data };
  }

  #refTo(kind: string): ObjectRef {
    return { kind, namespace: this.#options.namespace, name: STREAM.authority };
  }
}

const QUARREL: ApiError = {
  code: 409,
  reason: "Conflict",
  message: "another writer keeps changing the CA of the stream",
  retryAfter: null,
};

/** Of what lasts; what passes is in the log. */
function problemsOf(object: ObjectRef, error: ApiError): readonly Problem[] {
  const isLasting = [400, 403, 409, 422].includes(error.code);
  if (!isLasting) return [];
  return [{
    // Nothing that users made.
    object: null,
    field: "",
    reason: "StreamCaNotStored",
    message: `${formatObject(object)} cannot be kept, so proxies may not trust the controller's ` +
      `stream, and get changes by mounted files alone: ${printable(error.message)}`,
    remedy: error.code === 403
      ? "give the controller's service account this right; manifests/ has the Role"
      : "delete the object; the controller creates it again",
    severity: "warning",
  }];
}
