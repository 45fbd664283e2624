import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { CapabilityError, messageOf } from "../../base/errors.ts";
import { assertCanServe, loadFfiLibrary } from "../../native/platform.ts";
import { ProcessStarter } from "./process-starter.ts";
import { Sandbox } from "../sandbox/sandbox.ts";
import { outputOf, runInTrial, type StartProcess, trySandbox } from "./sandbox-trial.ts";
import { diagnose } from "../sandbox/diagnosis.ts";
import { type MachineFacts, readMachineFacts } from "../sandbox/machine-facts.ts";

/** Result of one check. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What to do, in order. */
  readonly remedies: readonly string[];
  /** The words of the program that failed. */
  readonly said?: string;
}

export interface Examination {
  /** True if the sandbox works. */
  readonly ok: boolean;
  readonly machine: MachineFacts;
  readonly checks: readonly Check[];
}

/** The trial's attempts, by the check they belong to; `sandbox-trial.ts` has the words for the successful ones. */
const ATTEMPTS: readonly { name: string; refused: string; weaknesses: readonly string[] }[] = [
  { name: "write", refused: "files outside cannot be written", weaknesses: ["write outside"] },
  {
    name: "read",
    refused: "hidden files can be neither read nor listed",
    weaknesses: ["read what is hidden", "list what is hidden"],
  },
  {
    name: "privileges",
    refused: "programs inside have no capabilities, and cannot gain any",
    weaknesses: ["keep capabilities", "gain privileges"],
  },
  { name: "filter", refused: "system calls are filtered", weaknesses: ["make any system call"] },
  { name: "processes", refused: "processes outside cannot be seen", weaknesses: ["see the server"] },
  { name: "interfaces", refused: "there is no network inside", weaknesses: ["reach the network"] },
];

const CONNECTED = "connected";
const HAS_TERMINAL = "terminal 30 90";

/** Tries everything that a sandbox needs, for real. `searchPath` is the server's PATH. */
export async function examineSandbox(searchPath: string | undefined): Promise<Examination> {
  const machine = readMachineFacts();
  const checks: Check[] = [];
  try {
    for await (const check of examine(searchPath, machine)) checks.push(check);
  } catch (error) {
    if (!(error instanceof CapabilityError)) throw error;
    checks.push(failed("start", error.message, machine));
  }
  return { ok: checks.every(({ ok }) => ok), machine, checks };
}

/** Ends with the first check without which the others make no sense. */
async function* examine(searchPath: string | undefined, machine: MachineFacts): AsyncGenerator<Check> {
  try {
    assertCanServe();
    loadFfiLibrary();
  } catch (error) {
    yield failed("server", messageOf(error), machine);
    return;
  }
  yield passed("server", `the server runs on ${machine.platform} ${machine.architecture}`);
  const sandbox = new Sandbox(searchPath);
  try {
    const { path, version, limitsSize } = await sandbox.bubblewrap();
    const note = limitsSize ? "" : "; 0.7.0 and later also limit the size of /tmp inside";
    yield passed("bubblewrap", `${path} has version ${version}${note}`);
  } catch (error) {
    yield failed("bubblewrap", messageOf(error), machine);
    return;
  }
  const starter = new ProcessStarter({ maxRetainedBytes: 65_536, maxRetainedChunks: 1000 }, { sandbox });
  try {
    yield* examineInside((request) => starter.start(request), machine);
  } finally {
    starter.killAll();
  }
}

async function* examineInside(start: StartProcess, machine: MachineFacts): AsyncGenerator<Check> {
  const { weaknesses: attempted, failure } = await trySandbox(start);
  const weaknesses = [...new Set(attempted)];
  if (failure !== undefined) {
    yield failed("start", failure, machine);
    return;
  }
  yield passed("start", "programs run inside");
  for (const { name, refused, weaknesses: own } of ATTEMPTS) {
    const succeeded = weaknesses.filter((weakness) => own.includes(weakness));
    yield succeeded.length === 0 ? passed(name, refused) : weak(name, succeeded);
  }
  const known = ATTEMPTS.flatMap((attempt) => attempt.weaknesses);
  const others = weaknesses.filter((weakness) => !known.includes(weakness));
  if (others.length > 0) yield weak("confinement", others);
  yield await examineConnecting(start);
  yield await examineTerminal(start);
}

/** Connects to a server of our own, which everything outside can reach. */
async function examineConnecting(start: StartProcess): Promise<Check> {
  const listener = createServer((socket) => socket.end());
  try {
    listener.listen(0, "127.0.0.1");
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    await once(connect(port, "127.0.0.1").resume(), "close");
    const script = `
      const socket = require("node:net").connect(${port}, "127.0.0.1", () => console.log("${CONNECTED}"));
      socket.on("error", ({ code }) => { console.log(code); process.exit(); });
      socket.resume();`;
    const managed = await runInTrial(start, [process.execPath, "-e", script]);
    const { exitCode } = managed.state;
    const output = outputOf(managed).trim();
    if (output === CONNECTED) return weak("network", ["connect to a server outside"]);
    return exitCode === 0
      ? passed("network", `servers outside cannot be reached (${output})`)
      : unclear("network", `an attempt to connect ended with code ${exitCode}`, output);
  } finally {
    listener.close();
  }
}

async function examineTerminal(start: StartProcess): Promise<Check> {
  const script = 'exec < /dev/tty && echo "terminal $(stty size)"';
  const stdin = { terminal: { rows: 30, columns: 90 } };
  const output = outputOf(await runInTrial(start, ["/bin/sh", "-c", script], { stdin })).trim();
  return output === HAS_TERMINAL
    ? passed("terminal", "programs inside have a terminal that they control")
    : unclear("terminal", "programs inside have no terminal that they control", output);
}

function passed(name: string, detail: string): Check {
  return { name, ok: true, detail, remedies: [] };
}

function failed(name: string, said: string, machine: MachineFacts): Check {
  const { problem, remedies } = diagnose(said, machine);
  return { name, ok: false, detail: problem, remedies, said: said.trim() };
}

function weak(name: string, weaknesses: readonly string[]): Check {
  return {
    name,
    ok: false,
    detail: `a program inside could ${weaknesses.join(", and ")}`,
    remedies: ["report this: the sandbox does not hold on this machine, and the server will not use it"],
  };
}

function unclear(name: string, detail: string, said: string): Check {
  return { name, ok: false, detail, remedies: [], said };
}
