import { fileURLToPath } from "node:url";
import type { Kind } from "./marked-processes.ts";

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const bomb = fixture("fork-bomb.sh");
const chain = fixture("fork-chain.sh");

/** 127 processes. */
const GENERATIONS = 6;
const HOPS = 5_000;
const OWN_OUTPUT = "< /dev/null > /dev/null 2>&1";
const READY_THEN_SLEEP = "'echo ready; exec sleep 1000'";
const READY_THEN_HIDE = `'echo ready; exec sleep 1000 ${OWN_OUTPUT}'`;
const IGNORE_THEN_HIDE = `'trap "" TERM; echo ready; exec sleep 1000 ${OWN_OUTPUT}'`;

/**
 * Each has left the process group in a way that can still be traced. Jobs are bash's: other shells have none without a
 * terminal.
 */
export const TRACEABLE: readonly Kind[] = [
  { name: "a fork bomb", script: `echo ready; exec sh ${bomb} ${GENERATIONS}` },
  {
    name: "a fork bomb of sessions",
    script: `echo ready; exec sh ${bomb} ${GENERATIONS} setsid ${OWN_OUTPUT}`,
  },
  { name: "a double fork", script: `(sh -c ${READY_THEN_SLEEP} &); exec sleep 1000` },
  {
    name: "a double fork with its own session",
    script: `(setsid sh -c ${READY_THEN_SLEEP} &); exec sleep 1000`,
  },
  {
    name: "a double fork with its own session, off a terminal",
    script: `(setsid sh -c ${READY_THEN_SLEEP} &); exec sleep 1000`,
    tty: true,
  },
  {
    name: "a child with its own session and descriptors",
    script: `setsid sh -c ${READY_THEN_HIDE} & wait`,
  },
  {
    name: "a child with its own session and descriptors that ignores SIGTERM",
    script: `setsid sh -c ${IGNORE_THEN_HIDE} & wait`,
  },
  { name: "a background job", script: `exec bash -c "set -m; sh -c ${READY_THEN_HIDE} & wait"` },
  {
    name: "a background job whose parent has exited",
    script: `bash -c "set -m; sh -c ${READY_THEN_HIDE} &"; exec sleep 1000`,
  },
  {
    name: "a background job on a terminal that ignores SIGTERM",
    script: `bash -c "set -m; sh -c 'trap \\"\\" TERM HUP; echo ready; exec sleep 1000 ${OWN_OUTPUT}' &"; exec sleep 1000`,
    tty: true,
  },
];

/** Leaves its group, its session, its parent and its output: the system cannot attribute it. */
export const UNTRACEABLE: Kind = {
  name: "a double fork with its own session and descriptors",
  script: `(setsid sh -c ${READY_THEN_HIDE} &); exec sleep 1000`,
};

/** Never where anyone looks, until it has hopped enough. */
export const RESTLESS: Kind = {
  name: "a chain of forks with their own sessions",
  script: `sh ${chain} ${HOPS}; echo ready; exec sleep 1000`,
};
