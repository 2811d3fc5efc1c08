/** Messages of the thread that runs a credential plugin. In: nothing. Out: their types. */
import type { CredentialPlugin } from "./credential_plugin.ts";

/** From the thread that starts it. */
export type ToPluginThread =
  | {
    readonly kind: "open";
    readonly plugin: CredentialPlugin;
    /** Milliseconds for a program that asks nothing of the user. */
    readonly timeout: number;
    /** To the thread that needs the credential: it asks by any message, and gets a `CredentialReading`. */
    readonly port: MessagePort;
  }
  /** Signals are watched: it may start. */
  | { readonly kind: "start" }
  /** Ends the program; one that asks the user may end by itself at the first. */
  | { readonly kind: "stop" };

/** To the thread that has started it; no message has a credential. */
export type FromPluginThread =
  /** The program is to be started. */
  | { readonly kind: "starting"; readonly isInteractive: boolean }
  | { readonly kind: "ended" };
