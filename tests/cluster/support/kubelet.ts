/**
 * The part of a kubelet that forwards ports. In: a cluster. Out: a Node whose pods are processes of this machine:
 * their ports are those of 127.0.0.1.
 */
import { PortForwarder } from "../../support/port_forwarder.ts";
import type { TestCluster } from "./cluster.ts";

export class Kubelet {
  private constructor(readonly node: string, readonly forwarder: PortForwarder) {}

  /** With its Node, which is ready. */
  static async start(cluster: TestCluster, node: string): Promise<Kubelet> {
    const { chain: cert, key } = await cluster.authority.issue({ names: ["127.0.0.1"] });
    const forwarder = await PortForwarder.start({ cert, key: key.reveal(), parameter: "port" });
    await cluster.apply({ apiVersion: "v1", kind: "Node", metadata: { name: node } });
    const answer = await cluster.request("PATCH", `/api/v1/nodes/${node}/status`, {
      status: {
        addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
        daemonEndpoints: { kubeletEndpoint: { Port: forwarder.port } },
        conditions: [{ type: "Ready", status: "True" }],
      },
    }, "application/merge-patch+json");
    if (answer.status === 200) return new Kubelet(node, forwarder);
    await forwarder.close();
    throw new Error(answer.text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.forwarder.close();
  }
}
