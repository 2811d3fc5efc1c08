/**
 * Why an API server does not answer in time, as far as it has said it before. In: calls and their results. Out: the
 * same results; a call that ran out of time fails with the error of the calls before it.
 */
import { isOutage } from "../../controller/kube/answer.ts";
import type { ApiError, ApiResult } from "../../controller/kube/types.ts";
import type { ClusterCall } from "./messages.ts";

export class LastTrouble {
  /** Of the server, not of what was asked for; null after a call that it answered well. */
  #error: ApiError | null = null;

  /** @param result With reason `Deadline` where the command's time has run out. */
  noted(call: Pick<ClusterCall, "kind">, result: ApiResult<unknown>): ApiResult<unknown> {
    // What a pod does not answer says nothing of the API server.
    if (call.kind === "pod") return result;
    if (result.ok) {
      this.#error = null;
      return result;
    }
    const { error } = result;
    if (error.reason !== "Deadline") {
      this.#error = isOutage(error.code) ? error : null;
      return result;
    }
    return this.#error === null ? result : {
      ok: false,
      error: { ...this.#error, message: `${this.#error.message}, and no answer came since then` },
    };
  }
}
