/**
 * TLS to a backend. In: an address, the name that the certificate there must be for, and whom to
 * trust. Out: a connection, and a transport on top of it once the certificate is found good; else an
 * error that says what is wrong.
 *
 * Both are node's. `Deno.startTls` drops a client certificate without a word, can neither leave the
 * verification out nor the public authorities, and holds a socket whose handshake stalls until the
 * peer ends it, whoever closes it here: a backend that hangs would use up the descriptors.
 */
import { createHash } from "node:crypto";
import net from "node:net";
import tls from "node:tls";
import type { UpstreamTls } from "../../shared/snapshot/types.ts";
import { TlsTransport } from "../io/tls_transport.ts";
import type { Secret } from "../../shared/redacted.ts";

/** What a backend may ask for. */
export interface ClientCertificate {
  readonly chain: string;
  readonly key: Secret;
}

/** What `secure` is to agree on. */
interface Terms {
  readonly security: Security;
  readonly certificate: ClientCertificate | null;
  /** Offered by ALPN, the best first. */
  readonly protocols: readonly string[];
}

/** A connection whose handshake is done. */
export interface Secured {
  readonly transport: TlsTransport;
  /** What the backend chose of the protocols offered; null where it chose none. */
  readonly protocol: string | null;
}

/** How connections to an endpoint are secured. */
export class Security {
  readonly tls: UpstreamTls;
  /** Equal for those that may share connections. */
  readonly key: string;
  #context: tls.SecureContext | null = null;
  #shows: ClientCertificate | null = null;

  constructor(settings: UpstreamTls) {
    const { serverName, sni, ca, clientCertificate, verify, verifyDepth, version } = settings;
    const parts = JSON.stringify([
      ...[serverName, sni, ca?.pem, clientCertificate, verify, verifyDepth, version],
    ]);
    this.tls = settings;
    this.key = createHash("sha256").update(parts).digest("base64");
  }

  /** Made once for many connections, for it takes longer than a handshake. */
  context(certificate: ClientCertificate | null): tls.SecureContext {
    if (this.#context === null || this.#shows !== certificate) {
      const { ca, version } = this.tls;
      this.#context = tls.createSecureContext({
        minVersion: version ?? "TLSv1.2",
        ...(version === undefined ? {} : { maxVersion: version }),
        ...(ca === undefined ? {} : { ca: ca.pem }),
        ...(certificate === null ? {} : { cert: certificate.chain, key: certificate.key.reveal() }),
      });
      this.#shows = certificate;
    }
    return this.#context;
  }
}

/** TCP alone, for `secure`. Rejects where `signal` aborts first. */
export function dialForTls(host: string, port: number, signal: AbortSignal): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const raw = net.connect({ host, port, allowHalfOpen: true } as net.NetConnectOpts);
    const fail = (error: Error) => {
      signal.removeEventListener("abort", end);
      raw.destroy();
      reject(error);
    };
    const end = () => fail(new Error("aborted"));
    // Stays for good: a socket whose error nobody hears ends the process.
    raw.on("error", fail);
    signal.addEventListener("abort", end, { once: true });
    raw.once("connect", () => {
      signal.removeEventListener("abort", end);
      raw.setNoDelay(true);
      resolve(raw);
    });
  });
}

/** Takes over `raw`, and destroys it where it rejects, also because `signal` aborts. */
export function secure(
  raw: net.Socket,
  { security, certificate, protocols }: Terms,
  signal: AbortSignal,
): Promise<Secured> {
  const { serverName, sni, verify, verifyDepth } = security.tls;
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      settle();
      socket?.destroy();
      raw.destroy();
      reject(error);
    };
    const end = () => fail(new Error("aborted"));
    const closed = () => fail(new Error("the backend closed the connection in the handshake"));
    const settle = () => {
      socket?.off("close", closed);
      signal.removeEventListener("abort", end);
    };
    let socket: tls.TLSSocket | null = null;
    if (signal.aborted) return end();
    try {
      socket = tls.connect({
        socket: raw,
        // SNI holds no addresses (RFC 6066, section 3).
        servername: sni !== false && net.isIP(serverName) === 0 ? serverName : "",
        ALPNProtocols: [...protocols],
        secureContext: security.context(certificate),
        allowHalfOpen: true,
        rejectUnauthorized: verify !== false,
        checkServerIdentity: (_host, shown) => tls.checkServerIdentity(serverName, shown),
      } as tls.ConnectionOptions);
    } catch (error) {
      return fail(error as Error);
    }
    socket.on("error", (error) => fail(explained(error)));
    socket.once("close", closed);
    signal.addEventListener("abort", end, { once: true });
    socket.once("secureConnect", () => {
      if (verify !== false && verifyDepth !== undefined) {
        const count = intermediatesOf(socket!.getPeerCertificate(true));
        if (count > verifyDepth) {
          return fail(
            new Error(`its chain has ${count} intermediate certificates, more than ${verifyDepth}`),
          );
        }
      }
      settle();
      const transport = new TlsTransport(socket!, raw);
      resolve({ transport, protocol: socket!.alpnProtocol || null });
    });
  });
}

/**
 * Certificates between the leaf and the authority, which is not counted where it is in the chain. All
 * that the backend has sent count, so that no path that was verified has more.
 */
function intermediatesOf(leaf: tls.DetailedPeerCertificate): number {
  const seen = new Set<tls.DetailedPeerCertificate>([leaf]);
  let count = 0;
  for (let each = leaf.issuerCertificate; each !== undefined && each !== null;) {
    if (seen.has(each) || each.issuerCertificate === each) break;
    seen.add(each);
    count++;
    each = each.issuerCertificate;
  }
  return count;
}

/** Deno has one reason for every chain that it does not accept. */
function explained(error: Error & { readonly code?: string }): Error {
  return error.code === "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
    ? new Error("its certificate has expired, or its issuer is not trusted", { cause: error })
    : error;
}
