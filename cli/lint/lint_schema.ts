/** The JSON of `lint`. In: nothing. Out: its schema, from which `docs/schemas/lint.json` is written. */
import Type from "typebox";
import { AT, closed, nullable, TEXT, VERSION } from "../json_parts.ts";
import { VERDICTS } from "./finding.ts";

const VERDICT = Type.Enum([...VERDICTS], {
  description:
    "OPENS: forwards what ingress-nginx refuses. BREAKS: refuses what it forwards, or, of " +
    "Gateway API, is not served as written. DIFFERS: serves it in another way. SAME: as ingress-nginx.",
});

const FINDING = closed({
  verdict: VERDICT,
  rule: Type.String({
    description: "Stable: annotation/limit-rps, problem/PathConflict, gateway/BackendNotFound.",
  }),
  effect: Type.String({ description: "What it does in ingress-nginx." }),
  difference: nullable(TEXT, "What is different in Pingress; null for nothing."),
  remedy: nullable(TEXT, "What to do; null for nothing."),
  field: Type.String({ description: "JSON path in the object; empty for all of it." }),
  at: AT,
  lines: Type.Optional(Type.Array(
    closed({
      line: Type.Integer({ minimum: 1, description: "In the snippet." }),
      directive: Type.String({ description: "Its name, without its arguments." }),
      remedy: TEXT,
    }),
    { description: "Of a snippet: its directives." },
  )),
});

const LINTED = {
  verdict: VERDICT,
  at: AT,
  findings: Type.Array(FINDING),
};

const INPUT_PROBLEM = closed({ message: TEXT, remedy: TEXT, at: AT });

const COUNT = Type.Integer({ minimum: 0 });

export const LINT_JSON = closed({
  v: VERSION,
  totals: closed(
    {
      ...{ ingresses: COUNT, opens: COUNT, breaks: COUNT, differs: COUNT, same: COUNT },
      ...{ cluster: COUNT, gatewayApi: COUNT, unreadable: COUNT, notChecked: COUNT },
    },
    "How many Ingresses there are, how many of them have each verdict, and the lengths of the lists.",
  ),
  ingresses: Type.Array(
    closed({ name: Type.String({ description: "NAMESPACE/NAME." }), ...LINTED }),
    { description: "Worst first, then by name." },
  ),
  cluster: Type.Array(FINDING, {
    description: "About no Ingress alone: the Deployment and the ConfigMap of ingress-nginx.",
  }),
  gatewayApi: Type.Array(
    closed({ name: Type.String({ description: "KIND NAMESPACE/NAME." }), ...LINTED }),
    { description: "Objects of Gateway API with findings." },
  ),
  unreadable: Type.Array(INPUT_PROBLEM, {
    description: "What could not be read: the result is not complete.",
  }),
  notChecked: Type.Array(INPUT_PROBLEM, {
    description: "Ingresses of other classes, and Secrets that are in no file.",
  }),
  always: Type.Array(TEXT, { description: "What differs for every Ingress; in no verdict." }),
}, "pingress lint -o json");
