/** A kubeconfig. In: its file. Out: its fields, or an error that says what is wrong and cites nothing of it. */
import { readGuardedYaml } from "../../../shared/yaml/guarded_yaml.ts";

/** The fields that are read here; https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ */
export interface Kubeconfig {
  readonly "current-context"?: string;
  readonly contexts?: readonly Named<
    "context",
    { readonly cluster?: string; readonly user?: string; readonly namespace?: string }
  >[];
  readonly clusters?: readonly Named<
    "cluster",
    { readonly server?: string; readonly "certificate-authority"?: string }
  >[];
  readonly users?: readonly Named<
    "user",
    {
      readonly "client-certificate"?: string;
      readonly "client-key"?: string;
      readonly tokenFile?: string;
    }
  >[];
}

type Named<K extends string, T> = { readonly name: string } & { readonly [key in K]?: T };

/** Throws where the file cannot be read, or is no kubeconfig. */
export function readKubeconfig(file: string): Kubeconfig {
  const reading = readGuardedYaml(Deno.readTextFileSync(file));
  if (!reading.ok) throw new Error(reading.message);
  const { value } = reading;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("it is no kubeconfig: there are no clusters, users and contexts in it");
  }
  return value;
}
