/**
 * All settings of one object. In: its model. Out: those of its routes, and of paths that have others.
 */
import type { RouteSettings } from "./route_settings.ts";
import type { Source } from "./source.ts";

export function settingsOf(source: Source): RouteSettings[] {
  const { settings, rewrittenDefault, rules, regex, wwwSettings: { www, bare } } = source;
  const own = [settings, rewrittenDefault ?? [], www ?? [], bare ?? []].flat();
  // Thousands of objects have the same for all of their paths.
  const areSame = regex === null && settings.policy?.httpsRedirect === undefined &&
    settings.filterSet?.filters.every(({ kind }) => kind !== "access") !== false;
  if (areSame) return own;
  const ofPaths = rules.flatMap(({ paths }) =>
    paths.flatMap(({ settings, rewrite }) => [settings ?? [], rewrite?.settings ?? []].flat())
  );
  return [...own, ...ofPaths];
}
