/**
 * The golden cases of explain and diff. In: `explain/folder`, `diff/before` and `diff/after`. Out: what is
 * printed of them, at several widths. Files are named as from the root of the repository.
 */
import { compare } from "../../cli/diff/comparison.ts";
import { diffJson } from "../../cli/diff/diff_json.ts";
import { diffText } from "../../cli/diff/diff_text.ts";
import { sideOf } from "../../cli/diff/side.ts";
import { explanationText } from "../../cli/explain/explanation_text.ts";
import { shortText } from "../../cli/explain/short_text.ts";
import { styleOf } from "../../cli/terminal/style.ts";
import { NOW, planOptions, readTexts } from "../support/dev_plan.ts";
import { explained } from "../support/explained.ts";

const PLAIN = styleOf(false);

/** Of a terminal: small, usual, wide. */
const WIDTHS = [40, 80, 120] as const;

/** Explained in this order. */
const URLS = [
  "https://app.example.com/p07/x?y=1",
  "http://app.example.com/p50",
  "https://app.example.com/admin",
  "http://old.example.com/x",
  "http://broken.example.com/",
  "http://nobody.example.com/",
  "http://app.example.com/%zz",
  "http://app.example.com/\u001b[31m",
  "http://api.gateway.example.com/x",
  "http://api.own.example.com/x",
];

function textsOf(folder: string): Record<string, string> {
  const url = new URL(`${folder}/`, import.meta.url);
  const names = Array.from(Deno.readDirSync(url), ({ name }) => name).sort();
  return Object.fromEntries(
    names.map((
      name,
    ) => [`tests/golden/${folder}/${name}`, Deno.readTextFileSync(new URL(name, url))]),
  );
}

/** The expected text by its file. */
export function explainOutputs(): readonly (readonly [file: URL, text: string])[] {
  const tls = "examples/5-tls.yaml";
  const files = {
    ...textsOf("explain/folder"),
    [tls]: Deno.readTextFileSync(new URL(`../../${tls}`, import.meta.url)),
  };
  const explanations = URLS.map((url) => explained(url, files).explanation);
  const text = (columns: number, showsAll: boolean) =>
    explanations.map((each) => explanationText(each, { columns, style: PLAIN, showsAll }))
      .join("\n\n\n");
  return [
    ...WIDTHS.map((columns) =>
      [fileOf(`explain/text-${columns}`), `${text(columns, false)}\n`] as const
    ),
    [fileOf("explain/all"), `${text(80, true)}\n`] as const,
    [
      fileOf("explain/short"),
      explanations.map((each) => `${shortText(each, PLAIN)}\n`).join(""),
    ] as const,
    [fileOf("explain/json"), `${JSON.stringify({ v: 1, explanations }, null, 2)}\n`] as const,
  ];
}

/** As `explainOutputs`. */
export function diffOutputs(): readonly (readonly [file: URL, text: string])[] {
  const now = Date.parse(NOW);
  const side = (folder: string) => sideOf(folder, readTexts(textsOf(folder)), planOptions(), now);
  const comparison = compare(side("diff/before"), side("diff/after"));
  return [
    ...WIDTHS.map((columns) =>
      [
        fileOf(`diff/text-${columns}`),
        `${diffText(comparison, { columns, style: PLAIN })}\n`,
      ] as const
    ),
    [
      fileOf("diff/json"),
      `${JSON.stringify({ v: 1, ...diffJson(comparison) }, null, 2)}\n`,
    ] as const,
  ];
}

function fileOf(name: string): URL {
  return new URL(`${name}.out`, import.meta.url);
}
