import { messageOf } from "../../base/errors.ts";
import { visibleText } from "../../base/visible-text.ts";
import { DurableDirectory } from "../../server/durable/durable-directory.ts";
import { type LostProcess, readJournal } from "../../server/durable/journal.ts";
import { endKeeper, keeperStatus } from "../../server/run-as/ask-keeper.ts";
import type { KeeperStatus } from "../../server/run-as/messages.ts";
import { findListener } from "../../server/run-as/user-program.ts";
import { printDurableLogs } from "./durable-logs.ts";
import { withholdInheritedDescriptors } from "../../native/spawn.ts";
import { openNamedSocket } from "../../server/run-as/user-socket.ts";
import { serveUser } from "../../server/serve/serve-user.ts";
import { VERSION } from "../shared/version.ts";
import { onStopSignal } from "./ending.ts";
import { refuseDebugger } from "./refuse-debugger.ts";
import { serviceManager } from "./service-manager.ts";
import { Failure, usageFailure } from "../shared/failure.ts";
import { print, printJson } from "../shared/standard-streams.ts";

export const help = `Show or end what a durable server has left running, or be what it leaves

Usage: exec-server durable status [--json] DIR
       exec-server durable logs DIR [NAME]
       exec-server durable end DIR
       exec-server durable keep DIR

With 'exec-server serve --durable DIR', a keeper runs everything for clients. It stays when the server
ends or crashes, and the next server with the same DIR continues with it.

Commands:
  status  Print whether a keeper runs, for how long, and what it runs; and processes that were lost,
          because a keeper was killed
  logs    Print the output that is on disk of the latest process of that name, its stdout and stderr
          together, even if a keeper was killed; without NAME, list the processes
  end     End the keeper and everything that it runs, and remove DIR. No server may use it then
  keep    Be the keeper, until SIGTERM. For a service manager: from then on, servers with this DIR start no
          keeper themselves, and wait for this one

Options:
      --json  Print one JSON object: directory, keeper (or null), lost
  -h, --help  Print help

Exit status: 0 if a keeper runs, or was ended; 1 if not, or if it cannot be one; 2 for an invalid command line.
`;

const ANSWER_MS = 10_000;
/** Its processes may have time to end. */
const END_MS = 90_000;
const GONE_MS = 5_000;

export async function run(args: readonly string[]): Promise<void> {
  const words = args.filter((argument) => argument !== "--json");
  const [command, path, ...others] = words;
  if (command !== "status" && command !== "end" && command !== "logs" && command !== "keep")
    throw usageFailure(
      command === undefined ? "expected status, logs, end or keep" : `unknown command '${command}'`,
    );
  const [name, ...rest] = command === "logs" ? others : [undefined, ...others];
  if (path === undefined || path === "" || path.startsWith("-"))
    throw usageFailure(`a directory is required: exec-server durable ${command} DIR`);
  if (rest.length > 0) throw usageFailure(`unexpected argument '${rest[0]}' found`);
  const asJson = words.length < args.length;
  if (asJson && command !== "status") throw usageFailure("'--json' needs status");
  if (command === "keep") return keep(DurableDirectory.create(path));
  const directory = DurableDirectory.find(path);
  if (command === "end") await end(directory);
  else if (command === "logs") await printDurableLogs(directory, name);
  else await showStatus(directory, asJson);
}

async function showStatus(directory: DurableDirectory, asJson: boolean): Promise<void> {
  const isThere = (await findListener(directory.socket)) !== undefined;
  const keeper = isThere ? await keeperStatus(directory.socket, ANSWER_MS).catch(explain(directory)) : null;
  const { lost, running } = readJournal(directory.journal);
  // Without a keeper, what the journal has as running was not ended by one.
  const all: (LostProcess | (typeof running)[number])[] = [...lost, ...(isThere ? [] : running)];
  process.exitCode = isThere ? 0 : 1;
  if (asJson) await printJson({ directory: directory.path, keeper, lost: all });
  else await print(describe(keeper, all));
}

function describe(
  keeper: KeeperStatus | null,
  lost: readonly { process: string; pid: number; startedAt: string; argv: readonly string[] }[],
): string {
  const lines =
    keeper === null
      ? ["no keeper runs"]
      : [
          `keeper     process ${keeper.pid}, version ${keeper.version}, since ${keeper.startedAt}`,
          `server     ${keeper.isAttached ? "is running" : "is not running"}`,
          `sessions   ${keeper.sessions}`,
          `processes  ${keeper.runningProcesses}`,
        ];
  const rows = lost.map(
    ({ process, pid, startedAt, argv }) =>
      `lost       ${process}, process ${pid}, since ${startedAt}: ${argv.join(" ")}`,
  );
  return [...lines, ...rows].map((line) => `${visibleText(line)}\n`).join("");
}

async function end(directory: DurableDirectory): Promise<void> {
  const unlock = directory.lock();
  if (unlock === undefined)
    throw new Failure(`a server uses ${directory.path}: stop it first, because it would start a new keeper`);
  try {
    if ((await findListener(directory.socket)) !== undefined)
      await endKeeper(directory.socket, END_MS).catch(explain(directory));
    const isGone = async (): Promise<boolean> => (await findListener(directory.socket)) === undefined;
    if (!(await isTrueWithin(isGone, GONE_MS)))
      throw new Failure(`the keeper of ${directory.path} still listens: nothing was removed`);
    directory.remove();
  } finally {
    unlock();
  }
}

async function keep(directory: DurableDirectory): Promise<void> {
  refuseDebugger();
  // Processes must not inherit what this program got.
  withholdInheritedDescriptors();
  const manager = serviceManager();
  const listener = await openNamedSocket(directory.socket);
  directory.manage();
  const end = serveUser(listener, {
    programFile: import.meta.url,
    version: VERSION,
    keeperSocket: directory.socket,
  });
  onStopSignal(end);
  manager.ready();
}

async function isTrueWithin(condition: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

function explain(directory: DurableDirectory) {
  return (error: unknown): never => {
    throw new Failure(`the keeper of ${directory.path} cannot be asked: ${messageOf(error)}`);
  };
}
