/**
 * Settings of hosts that stay on plain HTTP. In: the hosts, sorted. Out: their settings; the very same
 * objects, and the very same list, as before where nothing has changed.
 */
import type { HostSettings } from "../../../shared/snapshot/types.ts";
import { isSameList } from "../../base/memo.ts";

export class PlainHosts {
  #last: readonly HostSettings[] = [];

  of(hosts: readonly string[]): readonly HostSettings[] {
    const known = new Map(this.#last.map((settings) => [settings.id, settings]));
    const next = hosts.map((id) => known.get(id) ?? { id, httpsRedirect: false });
    if (!isSameList(this.#last, next)) this.#last = next;
    return this.#last;
  }
}
