/**
 * The credential plugin of a command. In: how it is started. Out: a port on which the thread of the API server
 * gets credentials; a signal that ends the command ends the program as well.
 *
 *     thread.ts ─port─▶ plugin_thread.ts ─▶ the program
 */
import { resolve } from "node:path";
import { NO_RIGHTS, type Rights } from "../../shared/rights.ts";
import { onEndSignals } from "../end_signals.ts";
import type { Progress } from "../terminal/progress.ts";
import type { CredentialPlugin } from "./credential_plugin.ts";
import type { FromPluginThread, ToPluginThread } from "./plugin_messages.ts";

/** Of the thread that starts it. @param code Folders of the thread's own code. */
export function pluginRights(command: string, code: readonly string[]): Rights {
  return { ...NO_RIGHTS, run: [command], read: code.map((folder) => resolve(folder)) };
}

export class PluginProcess {
  /** For the thread that needs the credential. */
  readonly port: MessagePort;
  /** As the kubeconfig names it. */
  readonly program: string;
  readonly #worker: Worker;
  /** While the program runs, signals end it too. */
  #forgetSignals: () => void = () => {};

  /** @param timeout Milliseconds for a program that asks nothing of the user. */
  constructor(
    plugin: CredentialPlugin,
    code: readonly string[],
    timeout: number,
    progress: Progress | null,
  ) {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    this.program = plugin.command;
    this.#worker = new Worker(new URL("./plugin_thread.ts", import.meta.url), {
      type: "module",
      name: "credential plugin",
      deno: { permissions: pluginRights(plugin.command, code) },
    });
    this.#worker.onmessage = ({ data }: MessageEvent<FromPluginThread>) => {
      if (data.kind === "ended") {
        progress?.resume();
        return this.#forgetSignals();
      }
      this.#watchSignals();
      progress?.step(`Running ${plugin.command}`);
      if (data.isInteractive) progress?.pause();
      this.#post({ kind: "start" });
    };
    this.#post({ kind: "open", plugin, timeout, port: port2 }, [port2]);
  }

  close(): void {
    this.#forgetSignals();
    this.#worker.terminate();
  }

  #watchSignals(): void {
    this.#forgetSignals();
    this.#forgetSignals = onEndSignals((code) => {
      this.#worker.onmessage = () => Deno.exit(code);
      this.#post({ kind: "stop" });
    });
  }

  #post(message: ToPluginThread, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer);
  }
}
