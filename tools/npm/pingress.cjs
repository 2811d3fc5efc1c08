#!/usr/bin/env node
/**
 * Starts a command of pingress in Deno: the one on PATH if it is new enough, else that of the package
 * `deno`. In: the command line. Out: the command's exit code; its input and output are those of this
 * process, and signals reach it.
 */
"use strict";
const { execFile, spawn } = require("node:child_process");
const { accessSync, constants } = require("node:fs");
const path = require("node:path");

const LIB = path.join(__dirname, "..", "lib");
const { deno: OLDEST, flags: FLAGS } = require("../lib/start.json");

/**
 * Before the command: gives it the right to use all of the network, or to start one program that a kubeconfig
 * names (`--allow-run=PROGRAM`).
 */
const ALLOWED = /^--allow-(?:net$|run=[^,]+$)/;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
const UNUSABLE = 2;

main(process.argv.slice(2)).catch((error) => fail(error.message));

async function main(args) {
  const deno = (await denoOfPath()) ?? denoOfPackage();
  if (deno === null) {
    fail(
      `pingress needs Deno ${OLDEST} or newer; install it, or npm's package deno beside this one`,
    );
  }
  const isAllowed = ALLOWED.test(args[0] ?? "");
  const rest = isAllowed ? args.slice(1) : args;
  run(deno, [
    "run",
    "--config",
    path.join(LIB, "deno.json"),
    "--cached-only",
    ...(Object.hasOwn(FLAGS, rest[0] ?? "") ? FLAGS[rest[0] ?? ""] : FLAGS[""]),
    ...(isAllowed ? [args[0]] : []),
    path.join(LIB, "cli-main.mjs"),
    ...rest,
  ]);
}

function run(deno, args) {
  const child = spawn(deno, args, {
    stdio: "inherit",
    env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" },
  });
  const passOn = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, passOn);
  child.on("error", (error) => fail(`${deno} cannot be started: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    // As the shell would see it without this process.
    for (const each of SIGNALS) process.removeListener(each, passOn);
    process.kill(process.pid, signal);
  });
}

/** The first one on PATH, if it is new enough; npm's own links to it lead to another start of Node. */
async function denoOfPath() {
  const name = process.platform === "win32" ? "deno.exe" : "deno";
  const folders = (process.env.PATH ?? "").split(path.delimiter)
    .filter((folder) => folder !== "" && !folder.split(path.sep).includes("node_modules"));
  const file = folders.map((folder) => path.join(folder, name)).find(isExecutable);
  return file !== undefined && isNewEnough(await versionOf(file)) ? file : null;
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** `2.9.6`; "" where it does not say. */
function versionOf(file) {
  return new Promise((resolve) => {
    execFile(file, ["--version"], (error, stdout) => {
      resolve(error === null ? /^deno (\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? "" : "");
    });
  });
}

function isNewEnough(version) {
  const [major, minor] = version.split(".").map(Number);
  const [wantedMajor, wantedMinor] = OLDEST.split(".").map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** The executable that the package `deno` depends on for this platform; null where it is not there. */
function denoOfPackage() {
  const name = process.platform === "win32" ? "deno.exe" : "deno";
  try {
    const ofDeno = path.dirname(require.resolve("deno/package.json"));
    for (const platform of Object.keys(require("deno/package.json").optionalDependencies ?? {})) {
      try {
        const found = require.resolve(`${platform}/package.json`, { paths: [ofDeno] });
        const file = path.join(path.dirname(found), name);
        if (isForThisMachine(platform) && isExecutable(file)) return file;
      } catch {
        // Not installed, as it is for another platform.
      }
    }
  } catch {
    // Neither is the package deno.
  }
  return null;
}

/** `@deno/linux-x64-glibc` and the like. */
function isForThisMachine(platform) {
  return platform.startsWith(`@deno/${process.platform}-${process.arch}`);
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(UNUSABLE);
}
