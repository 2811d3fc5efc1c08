/** Factor of all time limits of `.ci/run` and of tests, for a busy machine: PINGRESS_CI_PATIENCE. */
export const CI_PATIENCE = Number(Deno.env.get("PINGRESS_CI_PATIENCE") ?? "1");
