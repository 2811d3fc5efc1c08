/** What explains URLs. In: nothing. Out: the type that a folder, a cluster and a proxy come to. */
import type { UrlExplanation } from "../../dev/explain/url_explanation.ts";
import type { AskedRequest } from "./options.ts";

/** The explanation, or a sentence that says why there is none. */
export type Explainer = (request: AskedRequest) => Promise<UrlExplanation | string>;
