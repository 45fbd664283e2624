import type { Command, Option } from "commander";
import { SIGNAL_WORDS } from "../kept/parse-signal.ts";
import { isRemotePath } from "../target/remote-path.ts";
import {
  executorNames,
  fleetNames,
  hostNames,
  isOwnServer,
  keptNames,
  labelNames,
  pathWords,
  programNames,
} from "./known-words.ts";
import { SCRIPTS } from "./scripts.ts";

/** A word that could be typed next. */
interface Candidate {
  readonly word: string;
  readonly description?: string;
}

/** Possible continuations: words, and perhaps file names of this machine. */
interface Completion {
  readonly candidates: readonly Candidate[];
  readonly files: boolean;
}

const NOTHING: Completion = { candidates: [], files: false };
const FILES: Completion = { candidates: [], files: true };
const FILE_OPTIONS = new Set([
  "token-file",
  "ca",
  "cert",
  "key",
  "output",
  "ledger",
  "result-schema",
  "instruction-file",
  "output-schema",
  "table",
  "root",
  "write",
  "read",
  "deny",
]);
const FILE_COMMANDS = new Set(["run", "map", "agents", "record", "replay", "verify", "check"]);
/** Their paths may be on servers; a plain one is on this machine. */
const COPY_COMMANDS = new Set(["cp", "sync"]);
/** All of their paths are on servers. */
const REMOTE_COMMANDS = new Set(["ls", "cat"]);
/** Commands that run a program, and how many words come before its name. */
const PROGRAM_COMMANDS: Readonly<Record<string, number>> = { run: 0, map: 1, record: 1 };
const KEPT_COMMANDS = new Set(["attach", "logs", "wait", "kill", "rename", "rm"]);

/** Finds what can complete the last word. */
export async function completionFor(program: Command, words: readonly string[]): Promise<Completion> {
  const current = words.at(-1) ?? "";
  const read = readWords(program, words.slice(0, -1));
  const { command, waiting, operands } = read;
  if (waiting !== undefined) return matching(current, await valuesOf(waiting, current, read));
  const equals = current.startsWith("--") ? current.indexOf("=") : -1;
  if (equals > 0) {
    const option = findOption(command, current.slice(0, equals));
    if (option === undefined) return NOTHING;
    const { candidates, files } = await valuesOf(option, current.slice(equals + 1), read);
    const whole = candidates.map(({ word }) => ({ word: `${current.slice(0, equals)}=${word}` }));
    return matching(current, { candidates: whole, files });
  }
  const isOption = current.startsWith("-") && !read.isOnlyOperands;
  const programAt = programPlace(read);
  // Words after a program belong to it.
  if (operands.length > programAt) return FILES;
  if (operands.length === programAt && !isOption)
    return current.includes("/") ? FILES : wordsOnly(await programNames(current));
  if (isOption) return matching(current, { candidates: optionsOf(command), files: false });
  return matching(current, await argumentsOf(read, current));
}

/** How many words come before the name of the program that a command runs. */
function programPlace({ command, isOnlyOperands }: WordsRead): number {
  const place = PROGRAM_COMMANDS[command.name()] ?? Infinity;
  return place === 0 || isOnlyOperands ? place : Infinity;
}

interface WordsRead {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly waiting: Option | undefined;
  /** Values of the options so far. */
  readonly options: Readonly<Record<string, string>>;
  readonly operands: readonly string[];
  /** After `--`. */
  readonly isOnlyOperands: boolean;
}

function readWords(program: Command, words: readonly string[]): WordsRead {
  let command = program;
  let waiting: Option | undefined;
  const operands: string[] = [];
  let isOnlyOperands = false;
  const options: Record<string, string> = {};
  for (const word of words) {
    if (waiting !== undefined) {
      options[waiting.attributeName()] = word;
      waiting = undefined;
    } else if (word === "--" && !isOnlyOperands) {
      isOnlyOperands = true;
    } else if (
      word.startsWith("-") &&
      !isOnlyOperands &&
      !(command.name() === "run" && operands.length > 0)
    ) {
      const [flag = "", value] = word.split("=", 2);
      const option = findOption(command, flag);
      if (option === undefined || !option.required) continue;
      if (value === undefined) waiting = option;
      else options[option.attributeName()] = value;
    } else {
      const named = operands.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (named === undefined) operands.push(word);
      else command = named;
    }
  }
  return { command, waiting, options, operands, isOnlyOperands };
}

function findOption(command: Command, flag: string): Option | undefined {
  return command.options.find(({ long, short }) => long === flag || short === flag);
}

function optionsOf(command: Command): Candidate[] {
  const help = { word: "--help", description: "print help" };
  const known = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ long, short, description }) => ({ word: long ?? short ?? "", description }));
  return [...known, help];
}

async function valuesOf(option: Option, current: string, read: WordsRead): Promise<Completion> {
  const name = option.name();
  if (option.argChoices !== undefined) return wordsOnly(option.argChoices);
  if (name === "host") return wordsOnly([...hostNames(), ...(await executorsOf(current))]);
  if (name === "on" || (name === "label" && isOfFleet(read.command)))
    return wordsOnly(await labelsOf(current, read));
  if (name === "signal") return wordsOnly(SIGNAL_WORDS);
  return FILE_OPTIONS.has(name) ? FILES : NOTHING;
}

/** Labels, several of which can be joined: `zone=eu,gpu=yes`. */
async function labelsOf(current: string, { options, operands }: WordsRead): Promise<string[]> {
  const before = current.slice(0, current.lastIndexOf(",") + 1);
  const fleet = [...operands, options["host"]].find((word) => word && fleetNames().includes(word));
  return (await labelNames(fleet)).map((label) => `${before}${label}`);
}

/** `FLEET/`, or the executors of the fleet before the slash. */
async function executorsOf(current: string): Promise<string[]> {
  const slash = current.indexOf("/");
  if (slash < 0) return fleetNames().map((fleet) => `${fleet}/`);
  const fleet = current.slice(0, slash);
  if (!fleetNames().includes(fleet)) return [];
  return (await executorNames(fleet)).map((id) => `${fleet}/${id}`);
}

async function argumentsOf({ command, options }: WordsRead, current: string): Promise<Completion> {
  const name = command.name();
  if (isOfFleet(command)) {
    const namesFleet = name === "ls" || name === "watch" || options["on"] !== undefined;
    return wordsOnly(namesFleet ? fleetNames() : await executorsOf(current));
  }
  if (COPY_COMMANDS.has(name) || REMOTE_COMMANDS.has(name)) return await pathsOf(name, current, options);
  if (name === "completion") return wordsOnly(Object.keys(SCRIPTS));
  if (KEPT_COMMANDS.has(name)) return wordsOnly(await keptNames(options));
  if (name === "remove") return wordsOnly(hostNames());
  const isTokenList = name === "list" && command.parent?.name() === "token";
  if (FILE_COMMANDS.has(name) || isTokenList) return FILES;
  // `help` takes what the program takes.
  const { commands } = name === "help" && command.parent !== null ? command.parent : command;
  const shown = commands.filter((one) => one.summary() !== "" || one.description() !== "");
  return {
    candidates: shown.map((one) => ({ word: one.name(), description: one.summary() || one.description() })),
    files: false,
  };
}

/** A path on a server, or the name of a host before its colon. */
async function pathsOf(command: string, current: string, options: WordsRead["options"]): Promise<Completion> {
  if (isRemotePath(current)) return wordsOnly(await pathWords(current, options));
  const executors = await executorsOf(current);
  const hosts = [
    ...hostNames().map((host) => `${host}:`),
    ...executors.map((name) => (name.endsWith("/") ? name : `${name}:`)),
  ];
  // The shell knows this machine best, and can quote any name.
  if (COPY_COMMANDS.has(command) || (await isOwnServer(options))) return { ...wordsOnly(hosts), files: true };
  return wordsOnly([...hosts, ...(await pathWords(current, options))]);
}

function isOfFleet(command: Command): boolean {
  return command.parent?.name() === "fleet";
}

function wordsOnly(words: readonly string[]): Completion {
  return { candidates: words.map((word) => ({ word })), files: false };
}

function matching(current: string, { candidates, files }: Completion): Completion {
  return { candidates: candidates.filter(({ word }) => word.startsWith(current)), files };
}
