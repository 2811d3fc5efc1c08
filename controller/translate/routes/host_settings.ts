/**
 * Settings of hosts from all stages. In: those of hosts that stay on plain HTTP, and the aliases of
 * hosts, each sorted by id. Out: one list of both; the very same as before where nothing has changed.
 */
import { isSamePart } from "../../../shared/snapshot/equality.ts";
import type { HostSettings } from "../../../shared/snapshot/types.ts";
import { isSameList } from "../../base/memo.ts";
import { compareText } from "../../base/text_order.ts";

export class HostSettingsList {
  #last: readonly HostSettings[] = [];

  /** As a field of a snapshot, without an empty list. */
  of(
    plain: readonly HostSettings[],
    aliases: readonly HostSettings[],
  ): { readonly hostSettings?: readonly HostSettings[] } {
    const next = aliases.length === 0 ? plain : this.#merged(plain, aliases);
    if (!isSameList(this.#last, next)) this.#last = next;
    return this.#last.length === 0 ? {} : { hostSettings: this.#last };
  }

  #merged(
    plain: readonly HostSettings[],
    aliases: readonly HostSettings[],
  ): readonly HostSettings[] {
    const byId = new Map(plain.map((settings) => [settings.id, settings]));
    for (const alias of aliases) byId.set(alias.id, { ...byId.get(alias.id), ...alias });
    const last = new Map(this.#last.map((settings) => [settings.id, settings]));
    return Array.from(byId.values(), (settings) => {
      const before = last.get(settings.id);
      return before !== undefined && isSamePart(before, settings) ? before : settings;
    }).sort((a, b) => compareText(a.id, b.id));
  }
}
