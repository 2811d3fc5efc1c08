/** The command line of `pingress status`. In: nothing. Out: its flags. */
import { labelCheck } from "../../controller/cli/option_values.ts";
import { defineOptions, type Program } from "../../shared/options.ts";
import { CLUSTER_OPTIONS, SYSTEM_NAMESPACE_OPTION } from "../cluster/options.ts";
import { OUTPUT_OPTION } from "../output_option.ts";

export const program: Program = {
  name: "pingress status",
  summary: "Lists Ingresses, Gateways, proxies and controllers of a cluster.",
};

export const specs = defineOptions({
  output: OUTPUT_OPTION,
  namespace: {
    type: "string",
    value: "NAME",
    check: labelCheck("the name of a namespace"),
    help:
      "Namespace of the Ingresses and Gateways; -n for short. Without the flag: that of the context.",
  },
  allNamespaces: {
    type: "boolean",
    help: "Lists Ingresses and Gateways of all namespaces; -A for short.",
  },
  watch: {
    type: "boolean",
    help: "Shows changes until it is stopped; -w for short. Text only.",
  },
  ...CLUSTER_OPTIONS,
  ...SYSTEM_NAMESPACE_OPTION,
});
