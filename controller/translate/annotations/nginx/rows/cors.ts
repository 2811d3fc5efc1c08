/** Annotations about cross-origin requests. */
import { type Group, NOT_YET, OFF_BY_DEFAULT, row, type Surroundings } from "./row.ts";
import { BOOL, HEADER_NAMES, int, listOf } from "./value.ts";

const CORS_ROW = {
  scope: "ingress",
  invalid: "default",
  protects: false,
  verdict: NOT_YET,
} as const;

/** Of one that adds to enable-cors. */
const BESIDE = {
  ...CORS_ROW,
  isSame: (_: unknown, { textOf }: Surroundings) => BOOL.read(textOf("enable-cors") ?? "") !== true,
};

export const CORS = {
  "enable-cors": row({
    ...CORS_ROW,
    risk: "Low",
    value: BOOL,
    ...OFF_BY_DEFAULT,
    does: "answers preflight requests with 204, and adds the headers of CORS to responses",
  }),
  "cors-allow-origin": row({
    ...BESIDE,
    risk: "Medium",
    value: listOf(
      /^(?:\*|null|[a-z][a-z\d+.-]*:\/\/[*\w.-]+(?::\d{1,5})?)$/i,
      ",",
      "origins, separated by commas, or *",
    ),
    does: "lists the origins that may send requests",
  }),
  "cors-allow-methods": row({
    ...BESIDE,
    risk: "Medium",
    value: listOf(/^[A-Za-z]+$/, ",", "methods, separated by commas"),
    does: "lists the methods that other origins may use",
  }),
  "cors-allow-headers": row({
    ...BESIDE,
    risk: "Medium",
    value: HEADER_NAMES,
    does: "lists the headers that other origins may send",
  }),
  "cors-expose-headers": row({
    ...BESIDE,
    risk: "Medium",
    value: listOf(/^(?:\*|[\w-]+)$/, ",", "names of headers, separated by commas, or *"),
    does: "lists the response headers that other origins may read",
  }),
  "cors-allow-credentials": row({
    ...BESIDE,
    risk: "Low",
    value: BOOL,
    does: "says whether other origins may send credentials",
  }),
  "cors-max-age": row({
    ...BESIDE,
    risk: "Low",
    value: int(0),
    does: "says for how many seconds browsers may cache a preflight response",
  }),
} satisfies Group;
