/**
 * All settings of one object. In: its model. Out: those of its routes, and of paths that have others.
 */
import type { RouteSettings } from "./route_settings.ts";
import type { Source } from "./source.ts";

export function settingsOf({ settings, rules, regex }: Source): RouteSettings[] {
  // Thousands of objects rewrite nothing.
  if (regex === null) return [settings];
  const rewrites = rules.flatMap(({ paths }) => paths.flatMap(({ rewrite }) => rewrite ?? []));
  return [settings, ...rewrites.map((rewrite) => rewrite.settings)];
}
