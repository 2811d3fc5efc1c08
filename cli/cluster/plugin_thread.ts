/**
 * The thread that runs a credential plugin, with the right to start that program alone: neither the thread that
 * reads what an API server sends, nor the one of the command, can start anything. In: the plugin, then a
 * message for each run. Out: the credential, to the thread of the API server only.
 */
/// <reference lib="deno.worker" />
import {
  type CredentialPlugin,
  type CredentialReading,
  execInfo,
  missingProgram,
  readExecCredential,
} from "./credential_plugin.ts";
import type { FromPluginThread, ToPluginThread } from "./plugin_messages.ts";

/** Bytes of what a program prints; a token has a few thousand. */
const MAX_BYTES = 1024 * 1024;

let permit: (() => void) | null = null;
let child: Deno.ChildProcess | null = null;
/** Whether the program may ask the user, as there is a terminal. */
let isAsking = false;
let isStopping = false;

self.onmessage = ({ data }: MessageEvent<ToPluginThread>) => {
  switch (data.kind) {
    case "open": {
      const { plugin, timeout, port } = data;
      port.onmessage = async () => {
        isAsking = plugin.interactiveMode !== "Never" && Deno.stdin.isTerminal();
        await permission();
        const answer = await run(plugin, timeout);
        post({ kind: "ended" });
        port.postMessage(answer);
      };
      return;
    }
    case "start":
      return permit?.();
    case "stop":
      // A program that asks questions has to give the terminal back as it was.
      return end(isAsking && !isStopping ? "SIGINT" : "SIGKILL");
  }
};

/** The first thread watches for signals by then, so that no interrupt leaves the program behind. */
function permission(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  permit = resolve;
  post({ kind: "starting", isInteractive: isAsking });
  return promise;
}

async function run(plugin: CredentialPlugin, timeout: number): Promise<CredentialReading> {
  const { command, args, env, interactiveMode } = plugin;
  if (interactiveMode === "Always" && !isAsking) {
    return failed(
      `the program ${command} of the kubeconfig asks questions; run pingress at a terminal`,
    );
  }
  isStopping = false;
  try {
    child = new Deno.Command(command, {
      args: [...args],
      env: { ...env, KUBERNETES_EXEC_INFO: execInfo(plugin, isAsking) },
      stdin: isAsking ? "inherit" : "null",
      stdout: "piped",
      // What it says is for the user, as with kubectl.
      stderr: "inherit",
    }).spawn();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return failed(missingProgram(plugin));
    return failed(
      `the program ${command} of the kubeconfig cannot be started: ${messageOf(error)}`,
    );
  }
  let isLate = false;
  const timer = isAsking ? undefined : setTimeout(() => {
    isLate = true;
    end();
  }, timeout);
  const text = await textOf(child.stdout);
  const { code, signal } = await child.status;
  clearTimeout(timer);
  child = null;
  if (isLate) {
    return failed(
      `the program ${command} of the kubeconfig did not end within ${
        timeout / 1000
      } s; run it by ` +
        "hand, or give it more time by --timeout",
    );
  }
  if (code !== 0) {
    return failed(
      `the program ${command} of the kubeconfig ended with ${
        signal === null ? `exit code ${code}` : signal
      }; follow what it says, or run it by hand`,
    );
  }
  if (text === null) return failed(`the program ${command} of the kubeconfig printed over 1 MiB`);
  return readExecCredential(text, plugin, Date.now());
}

/** Null where it is too long, of which the program is ended. */
async function textOf(stream: ReadableStream<Uint8Array>): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) {
      end();
      return null;
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

function end(signal: "SIGINT" | "SIGKILL" = "SIGKILL"): void {
  isStopping = true;
  try {
    child?.kill(signal);
  } catch {
    // It has ended by itself.
  }
}

function failed(message: string): CredentialReading {
  return { ok: false, message };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function post(message: FromPluginThread): void {
  self.postMessage(message);
}
