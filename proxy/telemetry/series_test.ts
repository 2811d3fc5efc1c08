import assert from "node:assert/strict";
import { ServiceSeries } from "./series.ts";
import { DEFAULT_SERIES } from "./series_options.ts";

Deno.test("external authentication counts for its Service, or for its host outside of the cluster", () => {
  const services = new ServiceSeries(DEFAULT_SERIES, () => 0);
  const ids = [
    "//login.example.com:443+https+auth",
    "//login.example.com:443+https+global-auth",
    "sso/login:80+http+auth",
  ];
  services.update(ids.map((id) => ({ id })), [], () => {});
  assert.deepEqual([...services.entries()].map(([labels]) => labels), [
    'namespace="",service="other"',
    'namespace="",service="login.example.com"',
    'namespace="sso",service="login"',
  ]);
});
