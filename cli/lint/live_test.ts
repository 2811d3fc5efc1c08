import assert from "node:assert/strict";
import { join } from "node:path";
import { LINT_DEFAULTS, lintTexts } from "../../tests/golden/lint_case.ts";
import { inputOf, lint } from "./lint.ts";
import { FORMATS, parseLintCommand } from "./options.ts";
import { parseManifestFile } from "../../dev/manifests/file.ts";
import { Manifests } from "../../dev/manifests/manifests.ts";
import { OUTPUTS } from "./main.ts";

const ROOT = join(import.meta.dirname!, "../..");

/** Runs `code` with the permissions of the task; `main` is lint's. */
async function withTaskPermissions(code: string): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    const script = join(folder, "probe.ts");
    const main = new URL("./main.ts", import.meta.url).href;
    await Deno.writeTextFile(script, `import { main } from ${JSON.stringify(main)};\n${code}`);
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-q", "-P=lint", "--no-prompt", "--no-check"],
        ...["--config", join(ROOT, "deno.json"), script],
      ],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
    }).output();
    const text = new TextDecoder().decode(stdout);
    assert.notEqual(text, "", new TextDecoder().decode(stderr));
    return text;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("code that lints a folder may dial nobody, start nothing and write nothing", async () => {
  const text = await withTaskPermissions(`
    await main(["tests/golden/lint/folder/1-same.yaml"]);
    for (const name of ["net", "write", "run", "env", "ffi", "sys"]) {
      console.log("PROBE", name, Deno.permissions.querySync({ name }).state);
    }
    console.log("PROBE", await Deno.connect({ port: 9 }).then(() => "open", ({ name }) => name));
  `);
  assert.deepEqual(text.split("\n").filter((line) => line.startsWith("PROBE")), [
    "PROBE net prompt",
    "PROBE write prompt",
    "PROBE run prompt",
    "PROBE env denied",
    "PROBE ffi prompt",
    "PROBE sys prompt",
    "PROBE NotCapable",
  ]);
});

Deno.test("folders and a context exclude each other, and one of them is needed", () => {
  for (
    const [args, expected] of [
      [[], /needs DIR…, or --context NAME/],
      [["a", "--context=b"], /--context takes the place of DIR/],
      [["a", "--kubeconfig=b"], /--kubeconfig needs --context/],
      [["--context=b", "--configmap=file.yaml"], /must be NAMESPACE\/NAME/],
      [["--context=b", "--configmap=a/b/c"], /must be NAMESPACE\/NAME/],
      [["--context=b", "--timeout=1ms"], /--timeout/],
    ] as const
  ) {
    const parsed = parseLintCommand(args);
    assert.ok(parsed.kind === "error", args.join(" "));
    assert.match(parsed.text, expected);
  }
});

const NEEDS_SECRETS = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  annotations:
    nginx.ingress.kubernetes.io/backend-protocol: HTTPS
    nginx.ingress.kubernetes.io/proxy-ssl-secret: default/ca
    nginx.ingress.kubernetes.io/mirror-target: https://user:hunter2@example.com/
spec:
  ingressClassName: nginx
  tls: [{ hosts: [a.example.com], secretName: gone }]
  rules:
    - host: a.example.com
      http:
        paths:
          - { path: /, pathType: Prefix, backend: { service: { name: web, port: { number: 80 } } } }
`;

Deno.test("an annotation that needs a Secret is not checked without it, and breaks nothing", () => {
  const { ingresses, notChecked } = lintTexts({ "a.yaml": NEEDS_SECRETS });
  assert.equal(ingresses[0].verdict, "DIFFERS");
  assert.deepEqual(notChecked.map(({ message, at }) => `${at?.line}: ${message}`).sort(), [
    '12: not checked: there is no Secret "gone" in namespace default, so there is no certificate ' +
    "for a.example.com",
    "8: not checked: there is no Secret ca in namespace default, so requests get 503",
  ]);
});

Deno.test("objects of a cluster have their field in place of a file, in every format", () => {
  const manifests = new Manifests([parseManifestFile("a.yaml", NEEDS_SECRETS)]);
  const input = { ...inputOf(manifests), hasSecrets: false, locate: () => null };
  const result = lint(input, null, LINT_DEFAULTS, Date.now);
  assert.match(
    result.notChecked.map(({ message }) => message).join("\n"),
    /^not checked, as Secrets are not read: spec\.tls\[0\]\S* of Ingress default\/web$/m,
  );
  for (const format of FORMATS) {
    const text = OUTPUTS[format](result);
    assert.doesNotMatch(text, /hunter2|a\.yaml|null,null/, format);
    assert.match(text, /proxy-ssl-secret/, format);
  }
  assert.match(
    OUTPUTS.text(result),
    /^ {2}DIFFERS {2}annotation\/\S+ {2}metadata\.annotations\["nginx\./m,
  );
  assert.match(OUTPUTS.sarif(result), /"fullyQualifiedName": "Ingress default\/web metadata\./);
});
