/** The fuzzer's command line. In: arguments. Out: how long, from which seed, what is kept. */
import { defineOptions, type Options, type Program } from "../../shared/options.ts";

export const FUZZ_PROGRAM: Program = {
  name: "deno task fuzz",
  summary:
    "Feeds mutated streams to our parsers and connections, and those of HTTP/1.1 to llhttp, h11 " +
    "and Go's parsers beside them.",
};

export const FUZZ_OPTIONS = defineOptions({
  seconds: {
    type: "integer",
    min: 1,
    default: 300,
    reason: "minutes find what the 20 s of CI leave",
    help: "How long.",
  },
  seed: {
    type: "integer",
    min: 0,
    max: 2 ** 32 - 1,
    default: 1,
    reason: "the same streams every time",
    help: "Decides every random choice: the same seed and corpus give the same streams.",
  },
  keep: {
    type: "boolean",
    help: "Also adds to the corpus what gets answers that no stream of it gets.",
  },
});

export type FuzzOptions = Options<typeof FUZZ_OPTIONS>;
