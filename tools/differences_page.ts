/**
 * The page of what is otherwise than behind nginx. In: the differences that
 * `tests/peers/nginx_test.ts` shows. Out: the text of `docs/differences-from-nginx.md`.
 */
import {
  type Difference,
  REQUEST_DIFFERENCES,
  RESPONSE_DIFFERENCES,
} from "../tests/peers/differences.ts";

/** Where the page stands, relative to the repository. */
export const DIFFERENCES_PAGE = "docs/differences-from-nginx.md";

/** One row a difference, in the order in which the test takes them off. */
export function differencesPage(): string {
  return [
    "# Differences from nginx",
    "",
    "Made from `tests/peers/differences.ts` by `deno task docs:update`; do not edit.",
    "",
    "A thousand random valid requests with canonical targets go through nginx and through Pingress",
    "to the same backend (`deno task test:peers`). nginx forwards with the fields that we set, to",
    "HTTP/1.1, without buffering requests, as in `tests/peers/nginx.ts`. What backends and clients",
    "get is the same, byte for byte, but for this. *Seen from* says whose message has what the row",
    "names; the other's has not.",
    "",
    "## What backends see",
    "",
    ...tableOf(REQUEST_DIFFERENCES),
    "",
    "## What clients see",
    "",
    ...tableOf(RESPONSE_DIFFERENCES),
    "",
  ].join("\n");
}

const SEEN_FROM = { both: "both, unlike", nginx: "nginx", pingress: "Pingress" } as const;

function tableOf<View>(differences: readonly Difference<View>[]): string[] {
  return [
    "| what | seen from | why |",
    "| --- | --- | --- |",
    ...differences.map(({ what, of, reason }) =>
      `| ${cell(what)} | ${SEEN_FROM[of]} | ${cell(reason)} |`
    ),
  ];
}

function cell(text: string): string {
  return text.replace(/[*|]/g, "\\$&");
}
