/** Every parser of what strangers, tenants and peers write. In: nothing. Out: the table. */
import { BACKEND_PARSERS } from "./backend_parsers.ts";
import { BODY_PARSERS } from "./body_parsers.ts";
import { CLIENT_PARSERS } from "./client_parsers.ts";
import { CONTROL_PARSERS } from "./control_parsers.ts";
import { H2_PARSERS } from "./h2_parsers.ts";
import { LINT_PARSERS } from "./lint_parsers.ts";
import type { Parser } from "./parser.ts";
import { ROUTER_PARSERS } from "./router_parsers.ts";
import { GATEWAY_ADDRESS_PARSERS } from "./gateway_addresses.ts";
import { GATEWAY_PARSERS } from "./gateway_lists.ts";
import { SECRET_PARSERS } from "./secret_parsers.ts";
import { TENANT_LISTS } from "./tenant_lists.ts";
import { TENANT_PARSERS } from "./tenant_parsers.ts";
import { TLS_PARSERS } from "./tls_parsers.ts";

export const PARSERS: readonly Parser[] = [
  ...CLIENT_PARSERS,
  ...BODY_PARSERS,
  ...TLS_PARSERS,
  ...H2_PARSERS,
  ...ROUTER_PARSERS,
  ...BACKEND_PARSERS,
  ...TENANT_PARSERS,
  ...SECRET_PARSERS,
  ...CONTROL_PARSERS,
  ...TENANT_LISTS,
  ...GATEWAY_PARSERS,
  ...GATEWAY_ADDRESS_PARSERS,
  ...LINT_PARSERS,
];
