import assert from "node:assert/strict";
import { APP_PROTOCOLS, readAppProtocol } from "../controller/translate/backends/app_protocol.ts";
import { CONTROLLER_OPTIONS } from "../controller/cli/options.ts";
import { PROXY_OPTIONS } from "../proxy/cli/options.ts";
import { formatDefault, formatFlag, type OptionSpec } from "../shared/options.ts";

const PAGE = Deno.readTextFileSync(new URL("../docs/http2.md", import.meta.url));

const SPOKEN = {
  http: "HTTP/1.1 in plain text",
  https: "TLS with HTTP/2 or HTTP/1.1, selected by the backend (ALPN)",
  h2c: "HTTP/2 in plain text",
  h2: "TLS with HTTP/2 only",
};

Deno.test("docs/http2.md describes each appProtocol", () => {
  const section = PAGE.slice(PAGE.indexOf("## To backends"), PAGE.indexOf("```yaml"));
  const rows = section.split("\n").flatMap((line) => {
    const [, name, spoken] = /^\| (none|`[^`]+`) +\| (.+?) +\|$/.exec(line) ?? [];
    return name === undefined || name === "`appProtocol`" ? [] : [{ name, spoken }];
  });
  const expected = [...APP_PROTOCOLS].map(([name, protocol]) => ({
    name: `\`${name}\``,
    spoken: SPOKEN[protocol],
  }));
  assert.deepEqual(rows, [
    { name: "none", spoken: SPOKEN[readAppProtocol(undefined)] },
    ...expected,
  ]);
});

Deno.test("docs/http2.md names flags that exist, with their defaults", () => {
  const specs: readonly [string, OptionSpec][] = [
    ...Object.entries(CONTROLLER_OPTIONS),
    ...Object.entries(PROXY_OPTIONS),
  ];
  const defaults = new Map(
    specs.map(([key, spec]) => [formatFlag(key, spec).split(" ")[0], formatDefault(spec)]),
  );
  const mentions = [...PAGE.matchAll(/`(--[a-z0-9-]+)(?:=\w+)?`(?: \((\w+)\))?/g)];
  assert.ok(mentions.length > 10);
  for (const [, flag, value] of mentions) {
    assert.ok(defaults.has(flag), flag);
    if (value !== undefined) assert.equal(defaults.get(flag), value, flag);
  }
  for (const flag of defaults.keys()) {
    if (/^--(http2|h2c)/.test(flag)) assert.ok(PAGE.includes(`\`${flag}`), `${flag} is not there`);
  }
});
