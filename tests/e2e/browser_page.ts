/**
 * A page of headless Chromium that a test uses as a person would. In: the browser, an authority to
 * trust, and where hosts are. Out: what the page shows, its cookies, and the documents that it went
 * through. It speaks Chromium's DevTools protocol.
 *
 * https://chromedevtools.github.io/devtools-protocol/
 */
import { join } from "node:path";
import { eventually } from "../cluster/support/condition.ts";
import { environmentFor, flagsFor, trust } from "./browser.ts";

/** How long anything is waited for, in ms. */
const PATIENCE = 60_000;

/** How long the browser may take to end, in ms, before it is killed. */
const GRACE = 10_000;

export interface BrowserPageOptions {
  /** A file with certificates in PEM. */
  readonly authority: string;
  /** `--host-resolver-rules`: where the browser finds hosts. */
  readonly resolver: string;
}

/** A document, or a redirect on the way to it. */
export interface Visit {
  readonly status: number;
  readonly url: string;
}

export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly secure: boolean;
  readonly httpOnly: boolean;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly type?: string;
    readonly response?: Visit;
    readonly redirectResponse?: Visit;
  };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface Evaluation<T> {
  readonly result: { readonly value: T };
  readonly exceptionDetails?: {
    readonly text: string;
    readonly exception?: { readonly description?: string };
  };
}

export class BrowserPage implements AsyncDisposable {
  readonly #home: string;
  readonly #child: Deno.ChildProcess;
  #socket: WebSocket | null = null;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;
  #visits: Visit[] = [];

  private constructor(home: string, child: Deno.ChildProcess) {
    this.#home = home;
    this.#child = child;
  }

  static async open(browser: string, options: BrowserPageOptions): Promise<BrowserPage> {
    const home = await Deno.makeTempDir();
    await trust(home, options.authority);
    const child = new Deno.Command(browser, {
      args: [
        ...flagsFor(home),
        `--host-resolver-rules=${options.resolver}`,
        "--remote-debugging-port=0",
        "about:blank",
      ],
      env: await environmentFor(home),
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const page = new BrowserPage(home, child);
    try {
      await page.#connect();
      return page;
    } catch (error) {
      await page[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Loads a URL; throws where the browser shows an error of its own in its place. */
  async goto(url: string): Promise<void> {
    this.#visits = [];
    const { errorText } = await this.#call<{ errorText?: string }>("Page.navigate", { url });
    if (errorText !== undefined) throw new Error(`${url}: ${errorText}`);
  }

  /** The value of an expression in the page, awaited. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails: thrown } = await this.#call<Evaluation<T>>(
      "Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true },
    );
    if (thrown === undefined) return result.value;
    throw new Error(`${expression}: ${thrown.exception?.description ?? thrown.text}`);
  }

  /** Waits until the expression is true, while the page may be replaced by another. */
  async waitFor(expression: string): Promise<void> {
    try {
      await eventually(
        expression,
        // A page that is being replaced has no context.
        () => this.evaluate<boolean>(expression).catch(() => false),
        PATIENCE,
      );
    } catch (error) {
      const shown = await this.evaluate("location.href + '\\n' + document.body?.innerHTML")
        .catch(String);
      throw new Error(`no ${expression} at ${shown}`, { cause: error });
    }
  }

  /** The text of the first element that matches a selector. */
  async text(selector: string): Promise<string> {
    return await this.evaluate(`document.querySelector(${JSON.stringify(selector)}).textContent`);
  }

  /** Types into the field as a keyboard does. */
  async type(selector: string, text: string): Promise<void> {
    await this.evaluate(`document.querySelector(${JSON.stringify(selector)}).focus()`);
    await this.#call("Input.insertText", { text });
  }

  async click(selector: string): Promise<void> {
    await this.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
  }

  /** Those that the browser would send to the URL. */
  async cookies(url: string): Promise<Cookie[]> {
    const { cookies } = await this.#call<{ cookies: Cookie[] }>("Network.getCookies", {
      urls: [url],
    });
    return cookies;
  }

  /** Documents and redirects since the last call of `goto`, or of this. */
  visits(): Visit[] {
    const visits = this.#visits;
    this.#visits = [];
    return visits;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#socket === null) this.#child.kill("SIGKILL");
    else this.#call("Browser.close").catch(() => {});
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), GRACE);
    await this.#child.status;
    clearTimeout(timer);
    // Its helpers, which end by themselves, may still write there.
    await eventually(
      "removal of the browser's folder",
      () => Deno.remove(this.#home, { recursive: true }).then(() => true, () => false),
    );
  }

  async #connect(): Promise<void> {
    const file = join(this.#home, "profile", "DevToolsActivePort");
    const port = await eventually("DevTools port", async () => {
      const text = await Deno.readTextFile(file).catch(() => "");
      return /^\d+(?=\n)/.exec(text)?.[0];
    }, PATIENCE);
    const url = await eventually("page of the browser", async () => {
      const response = await fetch(`http://127.0.0.1:${port}/json/list`);
      const targets: { type: string; webSocketDebuggerUrl: string }[] = await response.json();
      return targets.find(({ type }) => type === "page")?.webSocketDebuggerUrl;
    }, PATIENCE);
    const socket = this.#socket = new WebSocket(url);
    const opened = Promise.withResolvers<void>();
    socket.onopen = () => opened.resolve();
    socket.onmessage = ({ data }) => this.#receive(JSON.parse(data));
    socket.onclose = () => {
      const error = new Error("the browser has ended");
      opened.reject(error);
      for (const { reject } of this.#calls.values()) reject(error);
      this.#calls.clear();
    };
    await opened.promise;
    await this.#call("Page.enable");
    await this.#call("Network.enable");
  }

  #call<T>(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<T> {
    const id = ++this.#lastId;
    const call = Promise.withResolvers<unknown>();
    this.#calls.set(id, call);
    if (this.#socket?.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ id, method, params }));
    } else call.reject(new Error("the browser has ended"));
    return call.promise as Promise<T>;
  }

  #receive({ id, method, params, result, error }: Message): void {
    if (id !== undefined) {
      const call = this.#calls.get(id);
      this.#calls.delete(id);
      if (error === undefined) call?.resolve(result);
      else call?.reject(new Error(error.message));
      return;
    }
    if (params?.type !== "Document") return;
    const visit = method === "Network.requestWillBeSent"
      ? params.redirectResponse
      : method === "Network.responseReceived"
      ? params.response
      : undefined;
    if (visit !== undefined) this.#visits.push({ status: visit.status, url: visit.url });
  }
}
