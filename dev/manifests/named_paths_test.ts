import assert from "node:assert/strict";
import { join } from "node:path";
import { unreadablePath } from "./named_paths.ts";

Deno.test("a folder that is not there is named, with the one that was meant", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(folder, "manifests"));
    await Deno.symlink(join(folder, "nothing"), join(folder, "gone.yaml"));
    const of = async (name: string) =>
      (await unreadablePath([join(folder, name)]))?.replaceAll(folder, "DIR") ?? null;
    assert.equal(await of("manifests"), null);
    assert.equal(
      await of("manifets"),
      "There is no file or folder DIR/manifets; did you mean DIR/manifests?",
    );
    assert.equal(
      await of("other"),
      "There is no file or folder DIR/other; name one with Kubernetes YAML in it",
    );
    assert.equal(
      await of("gone.yaml"),
      "DIR/gone.yaml is a link to what is not there; correct or remove it",
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("users who name no folder where there are no examples are told to name one", async () => {
  const folder = await Deno.makeTempDir();
  const before = Deno.cwd();
  try {
    Deno.chdir(folder);
    assert.equal(
      await unreadablePath(["examples"], "pingress dev DIR"),
      "There is no file or folder examples; name a folder: pingress dev DIR",
    );
  } finally {
    Deno.chdir(before);
    await Deno.remove(folder, { recursive: true });
  }
});
