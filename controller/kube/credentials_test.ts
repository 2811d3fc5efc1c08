import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { dirname, join } from "node:path";
import { CertificateAuthority } from "../../dev/certificate_authority.ts";
import { loadCredentials } from "./credentials.ts";
import { type CredentialSource, reachOf } from "./credential_source.ts";

const TOKEN = "hunter2-hunter2";

/** With its token between these lines. */
function kubeconfig(user: string, rest = ""): string {
  return `apiVersion: v1
kind: Config
current-context: c
clusters:
- name: c
  cluster: { server: "https://127.0.0.1:1", insecure-skip-tls-verify: true }
contexts:
- name: c
  context: { cluster: c, user: u }
users:
- name: u
  user:
${user}
${rest}`;
}

/** What is said of a kubeconfig with this text. */
function complaintAbout(text: string): string {
  const folder = Deno.makeTempDirSync();
  try {
    const file = join(folder, "config");
    Deno.writeTextFileSync(file, text);
    const source = { kind: "kubeconfig", file, context: null } as const;
    assert.equal(reachOf(source), null);
    const reading = loadCredentials(source);
    return reading.ok ? assert.fail("the kubeconfig is taken") : reading.message;
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Files of a folder, by their names. */
async function withFiles<T>(
  files: Readonly<Record<string, string>>,
  run: (folder: string) => T | Promise<T>,
): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.mkdir(dirname(join(folder, name)), { recursive: true });
      await Deno.writeTextFile(join(folder, name), text);
    }
    return await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const CLUSTERS = `current-context: c
clusters:
- name: c
  cluster: { server: "https://127.0.0.1:1", insecure-skip-tls-verify: true }
contexts:
- name: c
  context: { cluster: c, user: u, namespace: shop }
`;

Deno.test("several files of KUBECONFIG are one kubeconfig, of which the first decides", async () => {
  const files = {
    "a/config": CLUSTERS,
    "b/config": `current-context: other
clusters:
- name: c
  cluster: { server: "https://127.0.0.1:2", insecure-skip-tls-verify: true }
users:
- name: u
  user: { tokenFile: token }
`,
    "b/token": "from-a-file\n",
  };
  await withFiles(files, async (folder) => {
    const [file, ...others] = ["a/config", "gone", "b/config"].map((name) => join(folder, name));
    const source = { kind: "kubeconfig", file, others, context: null } as const;
    const reach = reachOf(source);
    assert.deepEqual([reach?.server.port, reach?.context, reach?.namespace], ["1", "c", "shop"]);
    assert.deepEqual(reach?.files, [file, ...others, join(folder, "b/token")]);
    const reading = loadCredentials(source);
    if (!reading.ok) assert.fail(reading.message);
    const { headers } = await reading.credentials.current();
    assert.equal(headers.Authorization, "Bearer from-a-file");
    reading.credentials.close();
  });
});

Deno.test("a command with a separator, and a CA, begin in the folder of their kubeconfig", async () => {
  const cluster = CLUSTERS.replace(
    "insecure-skip-tls-verify: true",
    "certificate-authority: ca.crt",
  );
  const execOf = (folder: string) =>
    reachOf({
      ...{ kind: "kubeconfig", file: join(folder, "a/config"), context: null },
      others: [join(folder, "b/config")],
    })?.exec;
  for (
    const [command, expected] of [
      ["./bin/login", "b/bin/login"],
      ["/opt/login", "/opt/login"],
      ["login", "login"],
    ]
  ) {
    const user = `users: [{ name: u, user: { exec: { command: ${command} } } }]`;
    await withFiles({ "a/config": cluster, "b/config": user }, (folder) => {
      const exec = execOf(folder);
      const path = expected.startsWith("b/") ? join(folder, expected) : expected;
      assert.deepEqual(exec?.value, { command: path });
      assert.equal(
        (exec?.cluster as Record<string, unknown>)["certificate-authority"],
        join(folder, "a/ca.crt"),
      );
    });
  }
});

Deno.test("credentials in the kubeconfig itself go before those that a program gives", async () => {
  for (const own of ["token: t", "tokenFile: token", "username: u, password: p"]) {
    const user = `users: [{ name: u, user: { ${own}, exec: { command: login } } }]`;
    await withFiles({ config: `${CLUSTERS}${user}`, token: "t" }, (folder) => {
      const source = { kind: "kubeconfig", file: join(folder, "config"), context: null } as const;
      assert.equal(reachOf(source)?.exec, null);
      assert.ok(loadCredentials(source).ok);
    });
  }
});

Deno.test("of several files, the one that is no kubeconfig is named", async () => {
  await withFiles({ a: CLUSTERS, b: `users: [${TOKEN}` }, (folder) => {
    const source = { kind: "kubeconfig", file: join(folder, "a"), others: [join(folder, "b")] };
    const reading = loadCredentials({ ...source, context: null } as const as CredentialSource);
    const message = reading.ok ? "" : reading.message;
    assert.match(message, /\/b: line 1, column 8: the \[ that begins here/);
    assert.ok(!message.includes("hunter2"), message);
  });
});

Deno.test("files of KUBECONFIG none of which is there are not found", () => {
  const source = {
    kind: "kubeconfig",
    file: "/none/a",
    others: ["/none/b"],
    context: null,
  } as const;
  const reading = loadCredentials(source);
  assert.match(
    reading.ok ? "" : reading.message,
    /kubeconfig \/none\/a.\/none\/b cannot be read: there is no such file;/,
  );
});

for (
  const [name, text, context, said] of [
    ["a context that is misspelt", CLUSTERS, "cc", /it has no context "cc"; did you mean "c"\?$/],
    [
      "a context that is not there",
      CLUSTERS,
      "production",
      /no context "production"; set --context to one of "c"$/,
    ],
    [
      "no current context",
      CLUSTERS.replace("current-context: c\n", ""),
      null,
      /it has no current-context; set --context to one of "c"$/,
    ],
    ["nothing", "{}", null, /it has no current-context; it has none at all; set --kubeconfig/],
    [
      "a context whose cluster is not there",
      CLUSTERS.replace("cluster: c", "cluster: nope"),
      null,
      /its context "c" names the cluster "nope", which it does not have; correct the context/,
    ],
    [
      "a context whose user is not there",
      CLUSTERS,
      null,
      /its context "c" names the user "u", whom it does not have; correct the context/,
    ],
  ] as const
) {
  Deno.test(`a kubeconfig with ${name} says what to choose`, async () => {
    await withFiles({ config: text }, (folder) => {
      const source = { kind: "kubeconfig", file: join(folder, "config"), context } as const;
      const reading = loadCredentials(source);
      assert.match(reading.ok ? "" : reading.message, said);
    });
  });
}

for (
  const [slip, text, said] of [
    [
      "a line that is indented wrong",
      kubeconfig(`    token: ${TOKEN}\n   client-key-data: x`),
      /line 14, column 4: the line begins in another column than the lines that it belongs to/,
    ],
    [
      "a quote that does not end",
      kubeconfig(`    token: "${TOKEN}`),
      /line 13, column 12: the quoted text that begins here does not end/,
    ],
    [
      "a quote that does not end, and keys behind it",
      kubeconfig(`    token: '${TOKEN}\n    username: a`, "preferences: {}\n"),
      /line 13, column 12: the quoted text/,
    ],
    ["a tab", kubeconfig(`    username: a\n\ttoken: ${TOKEN}`), /line 14, column 1: a tab/],
    [
      "no colon",
      kubeconfig(`    username: a\n    token ${TOKEN}`),
      /line 14, column 5: there is no/,
    ],
    [
      "no space after the colon",
      kubeconfig(`    token:${TOKEN}\n    username: a`),
      /line 13, column 5/,
    ],
    [
      "a token that looks like an alias",
      kubeconfig(`    token: *${TOKEN}`),
      /line 13, column 12: what/,
    ],
    ["a token that looks like a tag", kubeconfig(`    token: !${TOKEN} x`), /line 13, column 12: /],
    ["a token that begins with %", kubeconfig(`    token: %${TOKEN}`), /line 13, column 12: /],
    ["a token that begins with @", kubeconfig(`    token: @${TOKEN}`), /line 13, column 12: /],
    ["a token with a colon", kubeconfig(`    token: a: ${TOKEN}`), /line 13, column 12: /],
    [
      "text behind a quoted token",
      kubeconfig(`    token: "a" ${TOKEN}`),
      /line 13, column 16: text/,
    ],
    ["a bad escape", kubeconfig(`    token: "\\q${TOKEN}"`), /line 13, column 13: a backslash/],
    ["a list that does not end", kubeconfig(`    token: [${TOKEN}`), /line 13, column 12: the \[/],
    [
      "the token twice",
      kubeconfig(`    token: ${TOKEN}\n    token: ${TOKEN}`),
      /line 14, column 5/,
    ],
    ["an alias of itself", kubeconfig(`    token: &a { ${TOKEN}: *a }`), /its aliases/],
    [
      "two documents",
      kubeconfig("    username: a") + `---\ntoken: ${TOKEN}\n`,
      /line \d+, column 1/,
    ],
    ["JSON with a comma too many", `{"users":[{"user":{"token":"${TOKEN}",,}}]}`, /line 1, column/],
    ["JSON that ends early", `{"users":[{"user":{"token":"${TOKEN}`, /line 1, column/],
    ["nothing but the token", TOKEN, /is no kubeconfig/],
    ["a list", `- ${TOKEN}`, /is no kubeconfig/],
  ] as const
) {
  Deno.test(`a kubeconfig with ${slip} says where, and never shows its lines`, () => {
    const message = complaintAbout(text);
    assert.ok(!message.includes("hunter2"), message);
    assert.match(message, said);
    assert.doesNotMatch(message, /\n/);
  });
}

/** What stands in the user, and which headers requests have then. */
const HEADERS: readonly (readonly [
  name: string,
  user: string,
  headers: Readonly<Record<string, string>>,
])[] = [
  ["nothing", "{}", {}],
  ["a token", "{ token: ' a ' }", { Authorization: "Bearer a" }],
  ["an empty token", "{ token: '' }", {}],
  ["a token that is a number", "{ token: 123 }", { Authorization: "Bearer 123" }],
  [
    "a file of a token, which goes before a token",
    "{ token: a, tokenFile: token }",
    { Authorization: "Bearer of-the-file" },
  ],
  [
    "a name and a password, which go before a token",
    "{ token: a, username: jürgen, password: 'a:b' }",
    { Authorization: "Basic asO8cmdlbjphOmI=" },
  ],
  [
    "somebody to impersonate",
    "{ token: a, as: jane }",
    { "Authorization": "Bearer a", "Impersonate-User": "jane" },
  ],
];

for (const [name, user, headers] of HEADERS) {
  Deno.test(`requests by a kubeconfig whose user has ${name}`, async () => {
    const config = `${CLUSTERS}users: [{ name: u, user: ${user} }]`;
    await withFiles({ config, token: "of-the-file\n" }, async (folder) => {
      const file = join(folder, "config");
      const reading = loadCredentials({ kind: "kubeconfig", file, context: null });
      if (!reading.ok) assert.fail(reading.message);
      assert.deepEqual((await reading.credentials.current()).headers, headers);
      reading.credentials.close();
    });
  });
}

Deno.test("data of certificates goes before their files, and the settings of TLS are the cluster's", async () => {
  const { chain, key } = await CertificateAuthority.create("Pingress tests")
    .then((authority) => authority.issue({ names: ["jane"] }));
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const cluster = { "certificate-authority": "ca.crt", "tls-server-name": "api.test" };
  const user = {
    "client-certificate": "none.crt",
    "client-certificate-data": base64(chain),
    "client-key": "jane.key",
  };
  const config = JSON.stringify({
    "current-context": "c",
    clusters: [{ name: "c", cluster: { ...cluster, server: "https://127.0.0.1:1/" } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    users: [{ name: "u", user }],
  });
  const files = { config, "ca.crt": chain, "jane.key": key.reveal() };
  await withFiles(files, async (folder) => {
    const file = join(folder, "config");
    const reading = loadCredentials({ kind: "kubeconfig", file, context: null });
    if (!reading.ok) assert.fail(reading.message);
    const { credentials } = reading;
    assert.equal(credentials.clientCertificate, chain);
    assert.deepEqual((await credentials.current()).tls, {
      ...{ ca: chain, cert: chain, key: key.reveal(), servername: "api.test" },
      rejectUnauthorized: undefined,
    });
    credentials.close();
  });
});

for (
  const [place, change] of [
    ["clusters[0].name", (text: string) => text.replace("- name: c\n  cluster", "- cluster")],
    ["clusters[0].cluster.server", (text: string) => text.replace(/server: [^,]*, /, "")],
    ["contexts[0].context", (text: string) => text.replace(/\n {2}context: .*/, "")],
    ["contexts[0].context.cluster", (text: string) => text.replace("cluster: c, user", "user")],
    ["users[0].name", (text: string) => `${text}users: [{ user: { token: a } }]`],
  ] as const
) {
  Deno.test(`a kubeconfig without ${place} says so`, async () => {
    await withFiles({ config: change(CLUSTERS) }, (folder) => {
      const file = join(folder, "config");
      const reading = loadCredentials({ kind: "kubeconfig", file, context: null });
      assert.equal(
        reading.ok ? "" : reading.message,
        `kubeconfig ${file} cannot be read: ${place} is missing; ` +
          "set --kubeconfig to a kubeconfig that kubectl accepts",
      );
    });
  });
}
