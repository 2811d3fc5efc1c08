/**
 * Words that no other proxy's documentation uses. In: a text. Out: which of them it has, each with
 * what to write instead. Pages, names of tests and log messages are checked with it.
 */

type Replaced = readonly (readonly [word: RegExp, instead: string])[];

/** In any text. */
export const REPLACED: Replaced = [
  [/\bin force\b/i, "active"],
  [/\b(tell|tells|told) of\b/i, "reports"],
  [/\b(asked|tried) again\b/i, "retried"],
  [/\bstand-?ins?\b/i, "replacement, sample backend"],
  [/\bdesks?\b/i, "exchange"],
  [/\bis laid\b|\blays\b/i, "is built, is merged"],
  [/\b(lend|lends|lent)\b/i, "provides"],
  [/\bwhat there is\b/i, "a noun: features, test data"],
  [/\bwhat is (kept|left|wrong|served|published|checked)\b/i, "a noun: problems, routes"],
  [/\bmistake of ours\b/i, "bug"],
  [/takes? (it|them) off/i, "remove"],
  [/\bwhosoever\b|\bbe it\b/i, "any, for example"],
];

/** In names of tests and log messages, which are short: they begin with a noun or a verb. */
export const REPLACED_IN_NAMES: Replaced = [
  ...REPLACED,
  [/^(what|who|whose) /i, "a noun: a replica, a deleted object, an invalid header"],
  [/\banew\b/i, "again, re-created, restarted"],
  [/\bwhoever\b/i, "a noun: a client, a replica"],
  [/\bunder way\b/i, "in progress, open"],
  [/\bbreaks? off\b/i, "aborts, is truncated"],
  [/\b(goes|go) on\b/i, "continues"],
];

/** One line for each word of `words` that `text` has. */
export function replacedIn(text: string, words: Replaced): string[] {
  return words.flatMap(([word, instead]) => {
    const match = word.exec(text);
    return match === null ? [] : [`"${match[0]}": write ${instead}`];
  });
}
