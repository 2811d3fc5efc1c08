/**
 * Controllers that are killed and stay away. In: a scene. Out: it has none, or as many as it is given.
 */
import { eventually } from "../../cluster/support/condition.ts";
import { CONTROLLER, NAMESPACE } from "../cluster/installation.ts";
import type { Scene } from "./scene.ts";

/** Kills all of them, and waits until none is left. Out: how many there were. */
export async function removeControllers(scene: Scene): Promise<number> {
  const controllers = await scene.pingress.controllers();
  await scaleControllers(scene, 0);
  // Without a goodbye, so far as they are still there.
  for (const { metadata: { name } } of controllers) {
    await scene.cluster.kill(NAMESPACE, name).catch(() => {});
  }
  await eventually("end of all controllers", async () => {
    return (await scene.pingress.controllers()).length === 0;
  });
  return controllers.length;
}

/** Does not wait for them. */
export async function scaleControllers({ cluster }: Scene, replicas: number): Promise<void> {
  const what = [`deployment/${CONTROLLER}`, `--namespace=${NAMESPACE}`];
  await cluster.kubectl(["scale", ...what, `--replicas=${replicas}`]);
}
