/** Traefik of PyPI, with its routes from a file that it watches. */
import { join } from "node:path";
import { formatAddress } from "../../shared/net/address.ts";
import { Child } from "../child.ts";
import { endpointsOf } from "../endpoints.ts";
import { type BenchRoute, routesAt, routesOf } from "../routes.ts";
import { TLS_GROUP, TLS_NAME } from "../tls.ts";
import { commandOf, findWheel, TRAEFIK_WHEEL } from "./wheels.ts";
import type { Peer, Running, Setup } from "../model.ts";

/**
 * More it cannot do in the time that a measurement may take: it tries one router after the other,
 * and had not even learnt 100,000 of them after 30 s.
 */
const MOST_ROUTES = 10_000;

/** How long it may take to learn its routes, in ms. */
const ROUTING_PATIENCE = 30_000;

export const TRAEFIK: Peer = {
  name: "traefik",
  find: (build) => findWheel(TRAEFIK_WHEEL, build),
  can: ({ routes = 1 }) => routes <= MOST_ROUTES,
  async start(setup: Setup): Promise<Child> {
    const file = join(setup.folder, "traefik.yml");
    // All JSON is YAML.
    await Deno.writeTextFile(file, JSON.stringify(fixed(setup)));
    await writeRouting(setup, setup.routes === 1 ? [] : routesOf(setup.routes));
    const child = Child.start([
      ...commandOf(TRAEFIK_WHEEL, { GOMAXPROCS: String(setup.workers) }),
      `--configFile=${file}`,
    ]);
    await child.listening(setup.listen);
    try {
      await routed(setup);
    } catch (error) {
      await child.stop();
      throw error;
    }
    return child;
  },
  reload({ setup }: Running, turn: number): Promise<void> {
    return writeRouting(setup, routesAt(setup.routes, turn));
  },
};

/** It listens before it has routes, and answers by itself until then. Throws where that lasts. */
async function routed({ listen, tls, routes }: Setup): Promise<void> {
  const deadline = AbortSignal.timeout(ROUTING_PATIENCE);
  const { host, path } = routes === 1 ? { host: TLS_NAME, path: "/" } : routesOf(routes)[0];
  const caCerts = tls === null ? [] : [await Deno.readTextFile(tls.authority)];
  using client = Deno.createHttpClient({ allowHost: true, http2: false, caCerts });
  const url = `${tls === null ? "http" : "https"}://${TLS_NAME}:${listen.port}${path}`;
  while (true) {
    try {
      const answer = await fetch(url, { client, headers: { host }, signal: deadline });
      // Other errors are the backend's, which may have nothing at this path.
      if (answer.status !== 404 || await answer.text() !== "404 page not found\n") {
        if (!answer.bodyUsed) await answer.body?.cancel();
        return;
      }
    } catch (error) {
      // Until it has the certificate, it serves one that nobody trusts.
      if (deadline.aborted) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** What holds until it ends. */
function fixed({ listen, folder, accessLog }: Setup): unknown {
  return {
    global: { checkNewVersion: false, sendAnonymousUsage: false },
    log: { level: "ERROR" },
    entryPoints: {
      in: {
        address: formatAddress(listen),
        // Uploads and streams may last; by default they end after a minute.
        transport: { respondingTimeouts: { readTimeout: "0s" } },
      },
    },
    providers: { file: { filename: routingFile(folder), watch: true } },
    // On standard output, in the common format.
    ...(accessLog ? { accessLog: {} } : {}),
  };
}

/** What it learns anew. X-Forwarded-* and X-Real-Ip it sets by itself; X-Request-Id it cannot. */
function routing(setup: Setup, routes: readonly BenchRoute[]): unknown {
  const { tls, upstream } = setup;
  const scheme = upstream === "grpc" ? "h2c" : "http";
  const router = { entryPoints: ["in"], service: "out", ...(tls === null ? {} : { tls: {} }) };
  const rules = routes.length === 0
    ? ["PathPrefix(`/`)"]
    : routes.map(({ host, path }) =>
      `Host(\`${host}\`) && (Path(\`${path}\`) || PathPrefix(\`${path}/\`))`
    );
  return {
    http: {
      routers: Object.fromEntries(rules.map((rule, index) => [`r${index}`, { ...router, rule }])),
      services: {
        out: {
          loadBalancer: {
            servers: endpointsOf(setup).map((one) => ({
              url: `${scheme}://${formatAddress(one)}`,
            })),
            serversTransport: "kept",
          },
        },
      },
      serversTransports: { kept: { maxIdleConnsPerHost: 320 } },
    },
    ...(tls === null ? {} : {
      tls: {
        certificates: [{ certFile: tls.chain, keyFile: tls.key }],
        options: { default: { minVersion: "VersionTLS13", curvePreferences: [TLS_GROUP] } },
      },
    }),
  };
}

async function writeRouting(setup: Setup, routes: readonly BenchRoute[]): Promise<void> {
  const file = routingFile(setup.folder);
  await Deno.writeTextFile(`${file}.new`, JSON.stringify(routing(setup, routes)));
  await Deno.rename(`${file}.new`, file);
}

function routingFile(folder: string): string {
  return join(folder, "routing.yml");
}
