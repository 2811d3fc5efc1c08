/**
 * Annotations of ingress-nginx about the redirect to HTTPS, from the Ingress to what clients get over
 * plain HTTP/1.1 and HTTP/2.
 */
import assert from "node:assert/strict";
import { CidrList } from "../../shared/net/cidr.ts";
import { type AnnotatedIngress, annotatedSnapshot } from "../support/annotated_ingresses.ts";
import { Backend, Peer, statusOf } from "../support/backend.ts";
import { type Field, get, headers } from "../support/h2_frames.ts";
import { H2Peer } from "../support/h2_peer.ts";
import { certificateFor, TlsProxy, type TlsProxyOptions } from "../support/tls_proxy.ts";
import { headerOf } from "../support/wire_message.ts";

/** No certificate names bare.test. */
const CERTIFICATES = [await certificateFor("a", { names: ["a.test"] })];
const CHALLENGE = "/.well-known/acme-challenge/token";
const NEW = "https://new.example.com/";

function ingress(
  annotations: AnnotatedIngress["annotations"],
  paths: AnnotatedIngress["paths"] = [["/", "Prefix"]],
): AnnotatedIngress {
  return { annotations, paths };
}

/** By host and target what a plain request gets; a status alone has no Location. */
type Gets = Readonly<Record<string, string>>;

interface Case {
  readonly says: string;
  readonly ingress: AnnotatedIngress;
  /** Another one. */
  readonly other?: AnnotatedIngress;
  readonly gets: Gets;
  readonly options?: TlsProxyOptions;
  readonly profile?: "nginx";
  /** Lines of the request. */
  readonly more?: string;
}

const OFF = { sslRedirect: false };

const CASES: readonly Case[] = [
  {
    says: "without annotations a host with a certificate is redirected",
    ingress: ingress({}),
    gets: {
      "a.test/x/?y=/": "308 https://a.test:8443/x/?y=/",
      "bare.test/": "200",
      [`a.test${CHALLENGE}`]: "200",
    },
  },
  {
    says: "without --ssl-redirect nothing is redirected that has no annotation",
    ingress: ingress({}),
    options: OFF,
    gets: { "a.test/": "200" },
  },
  {
    says: 'ssl-redirect "false" beats --ssl-redirect',
    ingress: ingress({ "ssl-redirect": "false" }),
    gets: { "a.test/": "200" },
  },
  {
    says: 'ssl-redirect "true" beats --ssl-redirect=false, where there is a certificate',
    ingress: ingress({ "ssl-redirect": "true" }),
    options: OFF,
    gets: {
      "a.test/": "308 https://a.test:8443/",
      "bare.test/": "200",
      [`a.test${CHALLENGE}`]: "200",
    },
  },
  {
    says: 'ssl-redirect "true" beats a missing Secret, but for challenges of certificates',
    ingress: { ...ingress({ "ssl-redirect": "true" }), tlsHosts: ["bare.test"] },
    options: OFF,
    gets: {
      "bare.test/x?y=z": "308 https://bare.test:8443/x?y=z",
      [`bare.test${CHALLENGE}`]: "200",
      // As in ingress-nginx, where all hosts of an Ingress with TLS have a certificate.
      "other.test/": "308 https://other.test:8443/",
    },
  },
  {
    says: "without ssl-redirect, a host stays on plain HTTP while its Secret is missing",
    ingress: { ...ingress({}), tlsHosts: ["bare.test"] },
    gets: { "bare.test/": "200" },
  },
  {
    says: "ssl-redirect is of the paths of its Ingress",
    ingress: ingress({ "ssl-redirect": "false" }, [["/plain", "Prefix"]]),
    gets: { "a.test/plain/x": "200", "a.test/other": "308 https://a.test:8443/other" },
  },
  ...(["true", null] as const).map((text): Case => ({
    says: `the decoded form of a path with ssl-redirect ${text} is redirected like the path`,
    ingress: ingress({ "ssl-redirect": "false" }),
    other: ingress(text === null ? {} : { "ssl-redirect": text }, [["/p", "Prefix"]]),
    gets: {
      "a.test/p": "308 https://a.test:8443/p",
      "a.test//p": "308 https://a.test:8443//p",
      "a.test///p//x?y": "308 https://a.test:8443///p//x?y",
      "a.test/x/..%2fp": "308 https://a.test:8443/x/..%2Fp",
      "a.test/x%2f..%2fp": "308 https://a.test:8443/x%2F..%2Fp",
      "a.test/..%2fp": "308 https://a.test:8443/..%2Fp",
      [`a.test${CHALLENGE}%2f..%2f..%2f..%2fp`]:
        `308 https://a.test:8443${CHALLENGE}%2F..%2F..%2F..%2Fp`,
      "a.test//q": "200",
      "a.test/q%2Fp": "200",
      "a.test/x%252f..%252fp": "200",
      "a.test/caf%C3%A9": "200",
      "a.test/..%2fq": "200",
      "bare.test//p": "200",
    },
  })),
  {
    says: "the decoded form of a path with force-ssl-redirect is redirected like the path",
    ingress: ingress({}),
    other: ingress({ "force-ssl-redirect": "true" }, [["/p", "Prefix"]]),
    gets: { "bare.test//p": "308 https://bare.test:8443//p", "bare.test//q": "200" },
  },
  {
    says: "in the profile nginx, spellings of a redirected path are that path",
    ingress: ingress({ "ssl-redirect": "false" }),
    other: ingress({ "ssl-redirect": "true" }, [["/p", "Prefix"]]),
    profile: "nginx",
    gets: {
      "a.test//p": "308 https://a.test:8443//p",
      "a.test/x%2f..%2fp": "308 https://a.test:8443/x%2F..%2Fp",
      "a.test/x%252f..%252fp": "200",
      "a.test//q": "200",
    },
  },
  {
    says: "force-ssl-redirect needs no certificate, and lets no challenge pass by another path",
    ingress: ingress({ "force-ssl-redirect": "true", "ssl-redirect": "false" }),
    options: OFF,
    gets: {
      "a.test/x?y": "308 https://a.test:8443/x?y",
      "bare.test/x?y": "308 https://bare.test:8443/x?y",
      [`bare.test${CHALLENGE}`]: `308 https://bare.test:8443${CHALLENGE}`,
    },
  },
  {
    says: "force-ssl-redirect leaves paths of challenges alone",
    ingress: ingress({ "force-ssl-redirect": "true" }, [[CHALLENGE, "Exact"], ["/", "Prefix"]]),
    gets: { [`bare.test${CHALLENGE}`]: "200", "bare.test/": "308 https://bare.test:8443/" },
  },
  {
    says: "force-ssl-redirect with a value that cannot be read closes",
    ingress: ingress({ "force-ssl-redirect": "yes" }),
    gets: { "bare.test/": "503" },
  },
  {
    says: "preserve-trailing-slash: in the profile nginx a last slash is left out",
    ingress: ingress({ "force-ssl-redirect": "true" }),
    profile: "nginx",
    gets: {
      "bare.test/": "308 https://bare.test:8443",
      "bare.test/x/": "308 https://bare.test:8443/x",
      "bare.test/x//": "308 https://bare.test:8443/x/",
      "bare.test/x/?y": "308 https://bare.test:8443/x/?y",
      "bare.test/x?y=/": "308 https://bare.test:8443/x?y=",
    },
  },
  {
    says: "preserve-trailing-slash in the profile nginx",
    ingress: ingress({ "force-ssl-redirect": "true", "preserve-trailing-slash": "true" }),
    profile: "nginx",
    gets: { "bare.test/x/": "308 https://bare.test:8443/x/" },
  },
  {
    says: 'preserve-trailing-slash "false" outside of the profile',
    ingress: ingress({ "preserve-trailing-slash": "false" }),
    gets: { "a.test/x/": "308 https://a.test:8443/x" },
  },
  {
    says: "use-port-in-redirects has 443, too",
    ingress: ingress({ "use-port-in-redirects": "true" }),
    options: { sslRedirectPort: 443 },
    gets: { "a.test/x": "308 https://a.test:443/x" },
  },
  {
    says: "redirects of the route come first, as in nginx",
    ingress: ingress({ "app-root": "/app", "force-ssl-redirect": "true" }),
    gets: { "a.test/": "302 http://a.test/app", "a.test/app": "308 https://a.test:8443/app" },
  },
  {
    says: "permanent-redirect comes before the redirect to HTTPS, and before access",
    ingress: ingress({ "permanent-redirect": NEW, "denylist-source-range": "127.0.0.0/8" }),
    gets: { "a.test/x": `301 ${NEW}` },
  },
  {
    says: "the redirect to HTTPS comes before access",
    ingress: ingress({ "denylist-source-range": "127.0.0.0/8" }),
    gets: { "a.test/x": "308 https://a.test:8443/x", "bare.test/x": "403" },
  },
  {
    says: "a request that a trusted proxy has received over HTTPS is not redirected",
    ingress: ingress({ "force-ssl-redirect": "true" }),
    options: { trustedProxies: CidrList.parse("127.0.0.0/8") as CidrList },
    more: "X-Forwarded-Proto: https\r\n",
    gets: { "a.test/": "200", "bare.test/": "200" },
  },
  {
    says: "X-Forwarded-Proto of anybody else counts for nothing",
    ingress: ingress({ "force-ssl-redirect": "true" }),
    more: "X-Forwarded-Proto: https\r\n",
    gets: { "bare.test/": "308 https://bare.test:8443/" },
  },
];

for (const { says, ingress, other, gets, options = {}, profile, more = "" } of CASES) {
  Deno.test(`${says}`, async () => {
    await using backend = new Backend();
    using proxy = await TlsProxy.start({ sslRedirect: true, sslRedirectPort: 8443, ...options });
    const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
    const ingresses = { web: ingress, ...other === undefined ? {} : { other } };
    const snapshot = annotatedSnapshot(ingresses, [backend.port], profile);
    proxy.server.apply(snapshot, CERTIFICATES);
    using client = await Peer.connect(port);
    await using http2 = await H2Peer.connect(port);
    for (const [url, expected] of Object.entries(gets)) {
      const [host] = url.split("/", 1);
      const target = url.slice(host.length);
      const answer = await client.ask(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`);
      const location = headerOf(answer.head, "Location") ?? "";
      assert.equal(`${statusOf(answer)} ${location}`.trim(), expected, url);
      if (more !== "") continue;
      const stream = http2.nextStream();
      const fields = get(target).map(([name, value]): Field =>
        name === ":authority" ? [name, host] : [name, value]
      );
      await http2.send(headers(stream, fields, { end: true }));
      const { status, heads } = await http2.answer(stream);
      const found = new Map(heads.at(-1)).get("location") ?? "";
      assert.equal(`${status} ${found}`.trim(), expected, `${url} over HTTP/2`);
    }
  });
}

Deno.test("over HTTPS, a spelling of a path that is redirected in plain text is served", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: CERTIFICATES });
  const ingresses = {
    web: ingress({ "ssl-redirect": "false" }),
    other: ingress({ "ssl-redirect": "true" }, [["/p", "Prefix"]]),
  };
  proxy.server.apply(annotatedSnapshot(ingresses, [backend.port]), CERTIFICATES);
  using secure = await proxy.connect();
  assert.match(await secure.ask("GET //p HTTP/1.1\r\nHost: a.test"), /^HTTP\/1\.1 200 /);
});

Deno.test("force-ssl-redirect refuses a request without a host, and passes HTTPS", async () => {
  await using backend = new Backend();
  using proxy = await TlsProxy.start({ certificates: CERTIFICATES });
  const { port } = proxy.server.listen({ hostname: "127.0.0.1", port: 0 });
  const forced = annotatedSnapshot(
    { web: ingress({ "force-ssl-redirect": "true" }) },
    [backend.port],
  );
  proxy.server.apply(forced, CERTIFICATES);
  using client = await Peer.connect(port);
  assert.equal(statusOf(await client.ask("GET / HTTP/1.0\r\n\r\n")), 400);
  using secure = await proxy.connect();
  assert.match(await secure.ask("GET / HTTP/1.1\r\nHost: a.test"), /^HTTP\/1\.1 200 /);
});
