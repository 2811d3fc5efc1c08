/**
 * `deno task test`. In: files, folders or flags for `deno test`; without files, those that
 * `test.include` in deno.json names. Out: what `deno test` prints, and its exit code.
 *
 * Tests wait more than they work: with as many files at a time as there are cores, two cores rest
 * half of the time. `DENO_JOBS` says otherwise. Types are the business of `deno task check`.
 */
const FILES_A_CORE = 2;

const jobs = Deno.env.get("DENO_JOBS") ?? String(FILES_A_CORE * navigator.hardwareConcurrency);
const { code } = await new Deno.Command(Deno.execPath(), {
  args: ["test", "--allow-all", "--no-check", "--parallel", ...Deno.args],
  env: { DENO_JOBS: jobs },
}).spawn().status;
Deno.exit(code);
