/**
 * The proxy workload that a command line asks for. In: options, and the pod template that they name.
 * Out: what `workloadObjects` takes, or what is wrong with that file.
 */
import type { ControllerOptions } from "../../cli/options.ts";
import { readGuardedYaml } from "../../../shared/yaml/guarded_yaml.ts";
import type { WorkloadOptions } from "./options.ts";

export type WorkloadReading =
  | { readonly ok: true; readonly options: WorkloadOptions }
  /** One line with the file and the remedy. */
  | { readonly ok: false; readonly message: string };

export async function readWorkload(options: ControllerOptions): Promise<WorkloadReading> {
  const template = await readTemplate(options.proxyPodTemplate);
  if (!template.ok) return template;
  return {
    ok: true,
    options: {
      backend: options.backend,
      namespace: options.namespace,
      image: options.proxyServerImage,
      imagePullSecrets: options.imagePullSecrets,
      nodeSelector: options.nodeSelector,
      replicas: options.proxyReplicas,
      autoscale: options.proxyMaxReplicas === null ? null : {
        min: options.proxyReplicas,
        max: options.proxyMaxReplicas,
        cpuPercent: options.proxyCpuTarget,
      },
      serviceType: options.serviceType,
      serviceAnnotations: options.serviceAnnotations,
      loadBalancerClass: options.loadBalancerClass,
      priorityClass: options.proxyPriorityClass,
      drainDelay: options.proxyDrainDelay,
      drainTimeout: options.proxyDrainTimeout,
      stream: options.proxyUpdates === "stream",
      listenRange: options.gateway?.listenRange ?? null,
      proxyArgs: options.proxyArgs,
      podTemplate: template.value,
      cleanupService: options.cleanupService,
    },
  };
}

async function readTemplate(
  file: string | null,
): Promise<{ ok: true; value: unknown } | { ok: false; message: string }> {
  if (file === null) return { ok: true, value: null };
  let text: string;
  try {
    text = await Deno.readTextFile(file);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const remedy = "give --proxy-pod-template a YAML file that can be read";
    return { ok: false, message: `pod template ${file} cannot be read: ${reason}; ${remedy}` };
  }
  // It may hold passwords, as values of environment variables.
  const reading = readGuardedYaml(text);
  if (reading.ok) return reading;
  return { ok: false, message: `pod template ${file} is no YAML: ${reading.message}; correct it` };
}
