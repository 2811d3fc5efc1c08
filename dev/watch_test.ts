import assert from "node:assert/strict";
import { join } from "node:path";
import { startWatching } from "./watch.ts";

/** Runs `use` with a folder that is watched, and a promise for the next call. */
async function withWatched(
  use: (folder: string, next: () => Promise<void>) => Promise<void>,
  pathsIn: (folder: string) => string[] = (folder) => [folder],
): Promise<void> {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(join(folder, "a.yaml"), "a: 1");
  const abort = new AbortController();
  let calls = 0;
  let heard = () => {};
  let taken = 0;
  const watch = await startWatching(pathsIn(folder), abort.signal);
  const watching = watch.run(() => {
    calls++;
    heard();
    return Promise.resolve();
  });
  const next = async () => {
    if (calls <= taken) await new Promise<void>((resolve) => heard = resolve);
    taken = calls;
  };
  try {
    await use(folder, next);
  } finally {
    abort.abort();
    await watching;
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a saved, a new, a renamed and a removed file are each noticed", async () => {
  await withWatched(async (folder, next) => {
    await Deno.writeTextFile(join(folder, "a.yaml"), "a: 2");
    await next();
    await Deno.mkdir(join(folder, "sub"));
    await Deno.writeTextFile(join(folder, "sub", "b.yaml"), "b: 1");
    await next();
    await Deno.rename(join(folder, "sub", "b.yaml"), join(folder, "sub", "c.yaml"));
    await next();
    await Deno.remove(join(folder, "sub", "c.yaml"));
    await next();
  });
});

Deno.test("a single file is followed when an editor replaces it", async () => {
  await withWatched(async (folder, next) => {
    for (const text of ["a: 22", "a: 333"]) {
      await Deno.writeTextFile(join(folder, "a.yaml~"), text);
      await Deno.rename(join(folder, "a.yaml~"), join(folder, "a.yaml"));
      await next();
    }
  }, (folder) => [join(folder, "a.yaml")]);
});

Deno.test("a folder that does not exist yet is found by polling", async () => {
  await withWatched(async (folder, next) => {
    await Deno.mkdir(join(folder, "later"));
    await Deno.writeTextFile(join(folder, "later", "a.yaml"), "a: 1");
    await next();
  }, (folder) => [join(folder, "later")]);
});

Deno.test("a link to a missing file is found by polling", async () => {
  await withWatched(async (folder, next) => {
    await Deno.mkdir(join(folder, "later"));
    await next();
    await Deno.symlink(join(folder, "nowhere"), join(folder, "later", "link.yaml"));
    await next();
  }, (folder) => [join(folder, "later")]);
});

Deno.test("an exception of the callback ends the watch", async () => {
  const folder = await Deno.makeTempDir();
  const abort = new AbortController();
  const watch = await startWatching([folder], abort.signal);
  await Deno.writeTextFile(join(folder, "a.yaml"), "a: 1");
  const watching = watch.run(() => Promise.reject(new Error("cannot apply")));
  await assert.rejects(watching, /cannot apply/);
  abort.abort();
  await Deno.remove(folder, { recursive: true });
});
