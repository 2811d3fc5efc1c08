/**
 * Whether proxies can run as the account by which the stream knows them. In: the API server, and the
 * workload as it is. Out: yes, no, or not known yet; and a problem where something is missing.
 *
 * A pod that names an account that is not there cannot be made, and a DaemonSet takes an old pod away
 * before it finds out. So an installation whose manifests are older than its controller goes on
 * without the stream, and no proxy of it is lost. What has the account already keeps it: an account
 * that is gone for a moment must not replace all proxies twice.
 */
import type { ObjectRef, Problem } from "../../../shared/problem.ts";
import type { KubeClient } from "../../kube/client.ts";
import { type ApiError, type KubeObject, SERVICE_ACCOUNTS } from "../../kube/types.ts";
import { fieldOf } from "../../base/json.ts";
import { STREAM } from "./names.ts";

/** Milliseconds for which an answer is good, and for which one is that it is missing. */
const FRESH = 60_000;
const FRESH_MISSING = 10_000;

export interface ProxyAccountOptions {
  readonly client: Pick<KubeClient, "get">;
  readonly namespace: string;
  /** Milliseconds that never go back. */
  readonly now?: () => number;
}

export interface AccountReading {
  /** Whether pods are to have it; null where the API server did not say. */
  readonly isUsable: boolean | null;
  readonly problem: Problem | null;
  /** Milliseconds after which to look again although nothing changes; null for never. */
  readonly again: number | null;
}

/** What the API server said last: null for that it is there. */
interface Answer {
  readonly error: ApiError | null;
  readonly at: number;
}

export class ProxyAccount {
  readonly #options: ProxyAccountOptions;
  readonly #now: () => number;
  #answer: Answer | null = null;

  constructor(options: ProxyAccountOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * @param workload whose pods are about to have it.
   * @param live as a watch shows it; null where there is none.
   */
  async look(workload: ObjectRef, live: KubeObject | null): Promise<AccountReading> {
    const { client, namespace } = this.#options;
    const fresh = this.#answer?.error === null ? FRESH : FRESH_MISSING;
    const isKnown = this.#answer !== null && this.#now() - this.#answer.at < fresh;
    if (!isKnown) {
      const got = await client.get(SERVICE_ACCOUNTS, namespace, STREAM.serviceAccount);
      const error = got.ok ? null : got.error;
      // Else what was said before stands, which is better than to guess.
      if (error === null || error.code === 404 || error.code === 403) {
        this.#answer = { error, at: this.#now() };
      }
    }
    if (this.#answer === null) return { isUsable: null, problem: null, again: 1_000 };
    const { error } = this.#answer;
    if (error === null) return { isUsable: true, problem: null, again: null };
    const isUsed = accountOf(live) === STREAM.serviceAccount;
    return { isUsable: isUsed, problem: problemOf(workload, isUsed, error), again: FRESH_MISSING };
  }
}

function accountOf(live: KubeObject | null): unknown {
  const template = fieldOf(fieldOf(live, "spec"), "template");
  return fieldOf(fieldOf(template, "spec"), "serviceAccountName");
}

function problemOf(workload: ObjectRef, isUsed: boolean, error: ApiError): Problem | null {
  const isForbidden = error.code === 403;
  // Nobody knows, and nothing speaks against it.
  if (isForbidden && isUsed) return null;
  const what = isForbidden
    ? `it cannot be known whether there is a ServiceAccount ${STREAM.serviceAccount}`
    : `there is no ServiceAccount ${STREAM.serviceAccount}`;
  return {
    object: workload,
    field: "spec.template.spec.serviceAccountName",
    reason: "ProxyAccountMissing",
    message: isUsed
      ? `${what}, so no new proxy can be created; running ones continue`
      : `${what}, so proxies receive changes through mounted files only, about a minute late`,
    remedy:
      "apply the manifests of this version, which contain the account and the permission to get it, or give --proxy-updates=files",
    severity: isUsed ? "error" : "warning",
  };
}
