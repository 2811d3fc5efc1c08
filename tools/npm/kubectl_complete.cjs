#!/usr/bin/env node
/**
 * Completes `kubectl pingress`, which kubectl runs by this program's name, kubectl_complete-pingress. In: the words
 * behind it. Out: what may stand in place of the last one.
 */
"use strict";
process.argv.splice(2, 0, "completion", "--offers", "--");
require("./pingress.cjs");
