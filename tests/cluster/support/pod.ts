/**
 * Pods of a test. In: names. Out: servers that respond and end as good pods do, and the EndpointSlices
 * that lead to them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "./api_client.ts";

/** Where pods listen: the API server rejects endpoints of loopback. Undefined where there is none. */
export const podAddress = Deno.networkInterfaces().find(({ family, address }) =>
  family === "IPv4" && !address.startsWith("127.") && !address.startsWith("169.254.")
)?.address;

export type PodState = "ready" | "terminating";

/** False, and said, where this machine has no address that a pod may have. */
export function hasPodAddress(test: string): boolean {
  if (podAddress !== undefined) return true;
  console.log(`skipped: ${test}: this machine has loopback addresses only`);
  return false;
}

/** A backend that accepts no new connections when it ends, and finishes what it has. */
export class Pod {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  served = 0;

  constructor(readonly name: string) {
    this.#server = Deno.serve(
      { hostname: podAddress, port: 0, onListen: () => {} },
      async (request) => {
        this.served++;
        await request.text();
        // Some are under way whenever the pod ends.
        await sleep(Math.random() * 10);
        return new Response(this.name);
      },
    );
  }

  /** As the API server shows it; pods have different ports here, so each is in a slice of its own. */
  slice(service: string, state: PodState): Partial<KubeObject> {
    const isReady = state === "ready";
    return {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: `${service}-${this.name}`,
        labels: { "kubernetes.io/service-name": service },
      },
      addressType: "IPv4",
      ports: [{ name: "http", port: this.#server.addr.port, protocol: "TCP" }],
      endpoints: [{
        addresses: [podAddress],
        conditions: { ready: isReady, serving: true, terminating: !isReady },
      }],
    } as unknown as Partial<KubeObject>;
  }

  end(): Promise<void> {
    return this.#server.shutdown();
  }
}
