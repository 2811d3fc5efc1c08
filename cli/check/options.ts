/** The command line of `pingress check`. In: nothing. Out: its flags. */
import { defineOptions, type Program } from "../../shared/options.ts";
import { CLUSTER_OPTIONS, SYSTEM_NAMESPACE_OPTION } from "../cluster/options.ts";
import { OUTPUT_OPTION } from "../output_option.ts";

export const program: Program = {
  name: "pingress check",
  summary: "Checks an installation in a cluster, and says what is wrong and what helps.",
};

export const specs = defineOptions({
  output: OUTPUT_OPTION,
  ...CLUSTER_OPTIONS,
  ...SYSTEM_NAMESPACE_OPTION,
});
