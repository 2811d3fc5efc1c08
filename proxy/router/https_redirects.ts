/**
 * To which hosts plain HTTP is redirected, as far as settings of hosts decide it. In: the settings of a
 * snapshot, by changes. Out: the setting of the most specific pattern that matches a host.
 */
import type { HostSettings } from "../../shared/snapshot/types.ts";
import { HostIndex, NO_HOST } from "./host.ts";

const STAYS = 0;
const REDIRECTS = 1;

export class HttpsRedirects {
  readonly #hosts = new HostIndex();

  /** @param removed ids, which are host patterns. */
  update(changed: readonly HostSettings[], removed: readonly string[]): void {
    for (const id of removed) this.#hosts.delete(id);
    for (const { id, httpsRedirect } of changed) {
      // One that does not name this setting leaves it to a broader pattern.
      if (httpsRedirect === undefined) this.#hosts.delete(id);
      else this.#hosts.set(id, httpsRedirect ? REDIRECTS : STAYS);
    }
  }

  /** Null where no pattern with a setting matches `host` (lower case, without port and last dot). */
  find(host: string): boolean | null {
    const found = this.#hosts.find(host);
    return found === NO_HOST ? null : found === REDIRECTS;
  }
}
