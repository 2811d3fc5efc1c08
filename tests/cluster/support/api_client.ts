/**
 * Plain requests to an API server, for tests. In: objects and YAML. Out: status and body, whatever
 * the status; `apply`, `create`, `get`, `list` and `delete` throw where the server refuses.
 */
import { parseAllDocuments } from "yaml";

/** Any object of Kubernetes, as far as tests look at all of them. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly deletionTimestamp?: string;
  readonly creationTimestamp?: string;
  readonly managedFields?: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

/** What an API server said. */
export interface ApiAnswer {
  readonly status: number;
  /** Empty where the answer was no JSON. */
  readonly body: ApiBody;
  readonly text: string;
}

/** An object, a list, or a `Status` that says why not. */
export interface ApiBody {
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
  readonly items?: readonly KubeObject[];
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly [field: string]: unknown;
}

/** A refusal by the API server. */
export class ApiRefusal extends Error {
  override name = "ApiRefusal";
  readonly status: number;

  constructor(what: string, answer: ApiAnswer) {
    super(`${what}: ${answer.status} ${answer.body.message ?? answer.text}`);
    this.status = answer.status;
  }
}

export interface ApplyOptions {
  /** Default: `tests`. */
  readonly fieldManager?: string;
  /** For objects that name none. */
  readonly namespace?: string;
  /** `status` applies to the status alone. */
  readonly subresource?: string;
}

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

interface Resource {
  /** Of its group and version. */
  readonly path: string;
  readonly kind: string;
  readonly name: string;
  readonly namespaced: boolean;
}

/** One user's view of one API server. */
export class ApiClient {
  readonly server: string;
  readonly token: string;
  readonly #http: Deno.HttpClient;
  readonly #discovered = new Map<string, Promise<readonly Resource[]>>();

  /** @param server is `https://HOST:PORT`, and `caPem` the certificates that may sign its own. */
  constructor(server: string, caPem: string, token: string) {
    this.server = server;
    this.token = token;
    this.#http = Deno.createHttpClient({ caCerts: [caPem] });
  }

  /** Ends its connections. */
  close(): void {
    this.#http.close();
  }

  /**
   * Sends one request; `path` begins with `/api` or the like and may have a query. `body` is sent as
   * JSON, a string as it is. `contentType` is the kind of patch where `method` is PATCH.
   */
  async request(
    method: string,
    path: string,
    body?: unknown,
    contentType = "application/json",
  ): Promise<ApiAnswer> {
    const response = await this.open(method, path, body, contentType);
    const text = await response.text();
    return { status: response.status, body: bodyOf(text), text };
  }

  /** The same as a stream, for watches: read or cancel its body. */
  async open(
    method: string,
    path: string,
    body?: unknown,
    contentType = "application/json",
  ): Promise<Response> {
    return await fetch(`${this.server}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": contentType }),
      },
      body: body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body),
      client: this.#http,
    });
  }

  /**
   * Applies objects, or the documents of a YAML text, in order, by server-side apply and by force.
   * Out: what the server made of them. Throws `ApiRefusal`.
   */
  async apply<T = KubeObject>(
    objects: string | Partial<KubeObject> | readonly Partial<KubeObject>[],
    { fieldManager = "tests", namespace, subresource }: ApplyOptions = {},
  ): Promise<T[]> {
    const applied: T[] = [];
    for (const object of documents(objects)) {
      const { path } = await this.#locate(object, namespace);
      const under = subresource === undefined ? "" : `/${subresource}`;
      const query = `?fieldManager=${encodeURIComponent(fieldManager)}&force=true`;
      const type = "application/apply-patch+yaml";
      applied.push(await this.#demand("PATCH", `${path}${under}${query}`, object, type));
    }
    return applied;
  }

  /** Creates one object; its name may be left to the server by `generateName`. */
  async create<T = KubeObject>(object: Partial<KubeObject>, namespace?: string): Promise<T> {
    const { collection } = await this.#locate(object, namespace);
    return await this.#demand("POST", collection, object);
  }

  /** The object, or `null` where there is none. */
  async get<T = KubeObject>(
    apiVersion: string,
    kind: string,
    name: string,
    namespace?: string,
  ): Promise<T | null> {
    const path = await this.pathOf(apiVersion, kind, name, namespace);
    const answer = await this.request("GET", path);
    if (answer.status === 404) return null;
    return demandOk<T>(`GET ${path}`, answer);
  }

  /** All objects of a kind, of one namespace or of all. */
  async list<T = KubeObject>(
    apiVersion: string,
    kind: string,
    { namespace, labelSelector, fieldSelector }: ListOptions = {},
  ): Promise<T[]> {
    const query = new URLSearchParams();
    if (labelSelector !== undefined) query.set("labelSelector", labelSelector);
    if (fieldSelector !== undefined) query.set("fieldSelector", fieldSelector);
    const path = await this.pathOf(apiVersion, kind, null, namespace);
    const { items } = await this.#demand<{ items: readonly T[] }>("GET", `${path}?${query}`);
    // Members of a list leave out what the list says once.
    return items.map((item) => ({ ...item, apiVersion, kind }));
  }

  /** Deletes one object; `false` where there was none. */
  async delete(
    apiVersion: string,
    kind: string,
    name: string,
    namespace?: string,
  ): Promise<boolean> {
    const path = await this.pathOf(apiVersion, kind, name, namespace);
    const answer = await this.request("DELETE", path);
    if (answer.status === 404) return false;
    demandOk(`DELETE ${path}`, answer);
    return true;
  }

  /** A path to one object, or to all of a kind; found out by discovery, once a group. */
  async pathOf(
    apiVersion: string,
    kind: string,
    name: string | null,
    namespace?: string,
  ): Promise<string> {
    const { path, name: plural, namespaced } = await this.#resource(apiVersion, kind);
    const under = namespaced && namespace !== undefined
      ? `/namespaces/${encodeURIComponent(namespace)}`
      : "";
    return `${path}${under}/${plural}${name === null ? "" : `/${encodeURIComponent(name)}`}`;
  }

  async #locate(object: Partial<KubeObject>, fallback?: string) {
    const { apiVersion, kind, metadata } = object;
    if (apiVersion === undefined || kind === undefined) {
      throw new Error(`An object needs apiVersion and kind: ${JSON.stringify(object)}`);
    }
    const namespace = metadata?.namespace ?? fallback ?? "default";
    const collection = await this.pathOf(apiVersion, kind, null, namespace);
    return { collection, path: `${collection}/${encodeURIComponent(metadata?.name ?? "")}` };
  }

  async #resource(apiVersion: string, kind: string): Promise<Resource> {
    const discovered = this.#discovered.get(apiVersion) ?? this.#discover(apiVersion);
    this.#discovered.set(apiVersion, discovered);
    const resources = await discovered.catch((error) => {
      this.#discovered.delete(apiVersion);
      throw error;
    });
    const found = resources.find((resource) => resource.kind === kind);
    if (found !== undefined) return found;
    // Kinds of CRDs come later.
    this.#discovered.delete(apiVersion);
    throw new Error(`The API server knows no ${kind} in ${apiVersion}`);
  }

  async #discover(apiVersion: string): Promise<readonly Resource[]> {
    const path = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { resources } = await this.#demand<{ resources: readonly Omit<Resource, "path">[] }>(
      "GET",
      path,
    );
    return resources
      .filter(({ name }) => !name.includes("/"))
      .map(({ name, namespaced, kind }) => ({ path, name, namespaced, kind }));
  }

  async #demand<T>(method: string, path: string, body?: unknown, type?: string): Promise<T> {
    return demandOk<T>(`${method} ${path}`, await this.request(method, path, body, type));
  }
}

/** Watches say JSON too, but any number of objects; see `ApiAnswer.text`. */
function bodyOf(text: string): ApiBody {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** The body as what the test knows it to be. */
function demandOk<T>(what: string, answer: ApiAnswer): T {
  if (answer.status < 200 || answer.status > 299) throw new ApiRefusal(what, answer);
  return answer.body as T;
}

function documents(
  objects: string | Partial<KubeObject> | readonly Partial<KubeObject>[],
): readonly Partial<KubeObject>[] {
  if (typeof objects !== "string") return [objects].flat();
  return parseAllDocuments(objects).flatMap((document) => {
    if (document.errors?.length > 0) throw document.errors[0];
    const value = document.toJS();
    return value === null ? [] : value.kind === "List" ? value.items : [value];
  });
}
