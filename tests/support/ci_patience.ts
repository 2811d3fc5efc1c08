/** How many times as long tests wait as on a quiet machine: what `.ci/run` gets by PINGRESS_CI_PATIENCE. */
export const CI_PATIENCE = Number(Deno.env.get("PINGRESS_CI_PATIENCE") ?? "1");
