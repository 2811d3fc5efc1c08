import assert from "node:assert/strict";
import { join } from "node:path";
import { loadCredentials } from "./credentials.ts";
import { reachOf } from "./credential_source.ts";

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
