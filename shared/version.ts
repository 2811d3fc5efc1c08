/** The version of Pingress, for people and metrics: that of `deno.json`, which a test holds it to. */
export const VERSION = "0.1.0";
