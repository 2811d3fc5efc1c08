/**
 * Sessions that only the browser keeps. In: what is known of a user. Out: `Set-Cookie` values, several
 * where one would have more than 4 KiB, and back from `Cookie`: a part that is missing, changed or of
 * another session leaves no session at all.
 */

/** As in oauth2-proxy: browsers drop a cookie of more than 4,096 bytes with its name and attributes. */
const MAX_VALUE = 4000;

const ATTRIBUTES = "; Path=/; HttpOnly; Secure; SameSite=Lax";

export class SessionCookies {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** @param secret has 16, 24 or 32 bytes. */
  static async create(secret: string): Promise<SessionCookies> {
    const bytes = new TextEncoder().encode(secret);
    const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, [
      "encrypt",
      "decrypt",
    ]);
    return new SessionCookies(key);
  }

  /** Values of `Set-Cookie`: `NAME`, or `NAME_0`, `NAME_1` and so on. */
  async seal(name: string, value: unknown): Promise<string[]> {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const text = new TextEncoder().encode(JSON.stringify(value));
    const data = await crypto.subtle.encrypt(algorithm(name, iv), this.#key, text);
    const whole = new Uint8Array([...iv, ...new Uint8Array(data)])
      .toBase64({ alphabet: "base64url" });
    if (whole.length <= MAX_VALUE) return [`${name}=${whole}${ATTRIBUTES}`];
    return Array.from(
      { length: Math.ceil(whole.length / MAX_VALUE) },
      (_, i) => `${name}_${i}=${whole.slice(i * MAX_VALUE, (i + 1) * MAX_VALUE)}${ATTRIBUTES}`,
    );
  }

  /** Null without a session. */
  async open<T>(name: string, cookies: ReadonlyMap<string, string>): Promise<T | null> {
    let whole = cookies.get(name) ?? "";
    for (let i = 0; cookies.has(`${name}_${i}`); i++) whole += cookies.get(`${name}_${i}`);
    try {
      const bytes = Uint8Array.fromBase64(whole, { alphabet: "base64url" });
      const text = await crypto.subtle.decrypt(
        algorithm(name, bytes.subarray(0, 12)),
        this.#key,
        bytes.subarray(12),
      );
      return JSON.parse(new TextDecoder().decode(text));
    } catch {
      return null;
    }
  }
}

/** `Set-Cookie` values that remove all cookies of the name. */
export function expired(name: string, cookies: ReadonlyMap<string, string>): string[] {
  return [...cookies.keys()]
    .filter((found) => found === name || found.startsWith(`${name}_`))
    .map((found) => `${found}=${ATTRIBUTES}; Max-Age=0`);
}

/** Of a request; the first of a name wins. */
export function cookiesOf(headers: Headers): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const part of (headers.get("cookie") ?? "").split(/[;,]\s*/)) {
    const [name, ...value] = part.split("=");
    if (name !== "" && !cookies.has(name)) cookies.set(name, value.join("="));
  }
  return cookies;
}

/** The name is authenticated too: a cookie cannot be used as another. */
function algorithm(name: string, iv: Uint8Array<ArrayBuffer>): AesGcmParams {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(name) };
}
