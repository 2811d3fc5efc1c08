/**
 * All settings of one object. In: its model. Out: those of its routes, and of paths that have others.
 */
import type { RouteSettings } from "./route_settings.ts";
import type { Source } from "./source.ts";

export function settingsOf({ settings, rules, regex }: Source): RouteSettings[] {
  // Thousands of objects have the same for all of their paths.
  if (regex === null && settings.policy?.httpsRedirect === undefined) return [settings];
  const ofPaths = rules.flatMap(({ paths }) =>
    paths.flatMap(({ settings, rewrite }) => [settings ?? [], rewrite?.settings ?? []].flat())
  );
  return [settings, ...ofPaths];
}
