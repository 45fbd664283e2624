import type { Command, Option } from "commander";
import { SIGNAL_WORDS } from "../kept/parse-signal.ts";
import { isRemotePath } from "../target/remote-path.ts";

/** A word that could be typed next. */
interface Candidate {
  readonly word: string;
  readonly description?: string;
}

/** Words that only the machine knows. */
export interface Lookups {
  /** Names of the hosts of hosts.toml. */
  readonly hosts: () => readonly string[];
  /** Names of its fleets. */
  readonly fleets: () => readonly string[];
  /** Names of the executors of a fleet. */
  readonly executors: (fleet: string) => Promise<readonly string[]>;
  /** Labels of the executors of a fleet, or of the only one. */
  readonly labels: (fleet: string | undefined) => Promise<readonly string[]>;
  /** Names of kept processes, on the server that the words so far choose. */
  readonly kept: (options: GivenOptions) => Promise<readonly string[]>;
  /** Whether that server is the user's own, on this machine. */
  readonly isHere: (options: GivenOptions) => Promise<boolean>;
  /** Words that continue a path on a server. */
  readonly paths: (typed: string, options: GivenOptions) => Promise<readonly string[]>;
}

/** Options of the words so far. */
type GivenOptions = Readonly<Record<string, string>>;

/** What can come next: words, and perhaps also names of files of this machine. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly files: boolean;
}

const NOTHING: Completion = { candidates: [], files: false };
const FILES: Completion = { candidates: [], files: true };
const SHELLS = ["bash", "zsh", "fish"];
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
const KEPT_COMMANDS = new Set(["attach", "logs", "wait", "kill"]);

/** Finds what can complete the last word. */
export async function completionFor(
  program: Command,
  words: readonly string[],
  lookups: Lookups,
): Promise<Completion> {
  const current = words.at(-1) ?? "";
  const read = readWords(program, words.slice(0, -1));
  const { command, waiting, given, operands } = read;
  if (waiting !== undefined) return matching(current, await valuesOf(waiting, current, { read, lookups }));
  const equals = current.startsWith("--") ? current.indexOf("=") : -1;
  if (equals > 0) {
    const option = findOption(command, current.slice(0, equals));
    if (option === undefined) return NOTHING;
    const { candidates, files } = await valuesOf(option, current.slice(equals + 1), { read, lookups });
    const whole = candidates.map(({ word }) => ({ word: `${current.slice(0, equals)}=${word}` }));
    return matching(current, { candidates: whole, files });
  }
  // Words after the command that `run` runs belong to that command.
  if (command.name() === "run" && operands.length > 0) return FILES;
  if (current.startsWith("-")) return matching(current, { candidates: optionsOf(command), files: false });
  const name = command.name();
  const isOfFleet = command.parent?.name() === "fleet";
  if (!isOfFleet && (COPY_COMMANDS.has(name) || REMOTE_COMMANDS.has(name)))
    return await pathsOf(name, current, given, lookups);
  return matching(current, await argumentsOf(command, current, { given, lookups }));
}

interface WordsRead {
  readonly command: Command;
  /** The option whose value comes next. */
  readonly waiting: Option | undefined;
  /** Values of the options so far. */
  readonly given: GivenOptions;
  readonly operands: readonly string[];
}

function readWords(program: Command, words: readonly string[]): WordsRead {
  let command = program;
  let waiting: Option | undefined;
  const operands: string[] = [];
  let isOnlyOperands = false;
  const given: Record<string, string> = {};
  for (const word of words) {
    if (waiting !== undefined) {
      given[waiting.attributeName()] = word;
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
      else given[option.attributeName()] = value;
    } else {
      const found = operands.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (found === undefined) operands.push(word);
      else command = found;
    }
  }
  return { command, waiting, given, operands };
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

async function valuesOf(
  option: Option,
  current: string,
  { read, lookups }: { readonly read: WordsRead; readonly lookups: Lookups },
): Promise<Completion> {
  const name = option.name();
  if (option.argChoices !== undefined) return { candidates: option.argChoices.map(asWord), files: false };
  if (name === "host") {
    const words = [...lookups.hosts(), ...(await executorsOf(current, lookups))];
    return { candidates: words.map(asWord), files: false };
  }
  if (name === "on" || (name === "label" && read.command.parent?.name() === "fleet"))
    return { candidates: await labelsOf(current, read, lookups), files: false };
  if (name === "signal") return { candidates: SIGNAL_WORDS.map(asWord), files: false };
  return FILE_OPTIONS.has(name) ? FILES : NOTHING;
}

/** Labels, of which several may stand behind each other: `zone=eu,gpu=yes`. */
async function labelsOf(
  current: string,
  { given, operands }: WordsRead,
  { fleets, labels }: Lookups,
): Promise<Candidate[]> {
  const before = current.slice(0, current.lastIndexOf(",") + 1);
  const named = [...operands, given["host"]].find((word) => word !== undefined && fleets().includes(word));
  return (await labels(named)).map((label) => asWord(`${before}${label}`));
}

/** `FLEET/`, or the executors of the fleet before the slash. */
async function executorsOf(current: string, { fleets, executors }: Lookups): Promise<string[]> {
  const slash = current.indexOf("/");
  if (slash < 0) return fleets().map((fleet) => `${fleet}/`);
  const fleet = current.slice(0, slash);
  if (!fleets().includes(fleet)) return [];
  return (await executors(fleet)).map((id) => `${fleet}/${id}`);
}

/** A path on a server, or the name of a host before its colon. */
async function pathsOf(
  command: string,
  current: string,
  given: GivenOptions,
  lookups: Lookups,
): Promise<Completion> {
  const { hosts, isHere, paths } = lookups;
  if (isRemotePath(current)) return { candidates: (await paths(current, given)).map(asWord), files: false };
  const executors = await executorsOf(current, lookups);
  const named = [
    ...hosts().map((host) => ({ word: `${host}:` })),
    ...executors.map((name) => ({ word: name.endsWith("/") ? name : `${name}:` })),
  ];
  if (COPY_COMMANDS.has(command)) return matching(current, { candidates: named, files: true });
  // The shell knows this machine best, and can quote any name.
  if (await isHere(given)) return matching(current, { candidates: named, files: true });
  const words = (await paths(current, given)).map(asWord);
  return matching(current, { candidates: [...named, ...words], files: false });
}

async function argumentsOf(
  command: Command,
  current: string,
  { given, lookups }: { readonly given: GivenOptions; readonly lookups: Lookups },
): Promise<Completion> {
  const { hosts, kept } = lookups;
  const name = command.name();
  if (command.parent?.name() === "fleet") {
    const isOfFleet = name === "ls" || name === "watch" || given["on"] !== undefined;
    const words = isOfFleet ? lookups.fleets() : await executorsOf(current, lookups);
    return { candidates: words.map(asWord), files: false };
  }
  if (name === "completion") return { candidates: SHELLS.map(asWord), files: false };
  if (KEPT_COMMANDS.has(name)) return { candidates: (await kept(given)).map(asWord), files: false };
  if (name === "remove") return { candidates: hosts().map(asWord), files: false };
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

function asWord(word: string): Candidate {
  return { word };
}

function matching(current: string, { candidates, files }: Completion): Completion {
  return { candidates: candidates.filter(({ word }) => word.startsWith(current)), files };
}
