import type { Host, ListedProcess, RemoteProcess, SignalName } from "../../client/browser.ts";
import { attempt } from "../connection/attempt.ts";
import { isAllowed } from "../connection/server-link.ts";
import { confirm } from "../ui/confirm.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { addressOf, type ProcessAddress } from "./process-address.ts";
import { refreshProcesses } from "./process-list.ts";

/** Common signals, with their usual meaning. */
export const SIGNALS: readonly { readonly signal: SignalName; readonly meaning: string }[] = [
  { signal: "SIGINT", meaning: "interrupt, as Ctrl+C" },
  { signal: "SIGTERM", meaning: "end" },
  { signal: "SIGHUP", meaning: "hang up, or reload settings" },
  { signal: "SIGSTOP", meaning: "pause" },
  { signal: "SIGCONT", meaning: "continue" },
  { signal: "SIGUSR1", meaning: "up to the program" },
  { signal: "SIGUSR2", meaning: "up to the program" },
  { signal: "SIGQUIT", meaning: "quit with a core dump" },
  { signal: "SIGKILL", meaning: "kill at once" },
];

/** Enough for some lines. */
const LAST_BYTES = 4096;

/** More at once would only wait for each other. */
const AT_ONCE = 8;

/** Name of a process for users. */
function titleOf({ name, label, argv, processId }: ListedProcess): string {
  return visibleText(name ?? label ?? argv[0] ?? processId);
}

/** Whether the user may signal and end it. Only their own connections control processes of other sessions. */
export function isControllable(listed: ListedProcess): boolean {
  return isAllowed("control") && addressOf(listed) !== undefined;
}

export async function sendSignal(host: Host, listed: ListedProcess, signal: SignalName): Promise<void> {
  await attempt(`${signal} was not sent to ${titleOf(listed)}`, async () => {
    await withControl(host, addressOf(listed)!, (process) => process.signal(signal));
    toast({ kind: "good", text: `Sent ${signal} to ${titleOf(listed)}.` });
  });
  await refreshProcesses();
}

/** The end of what an ended process has written to stderr. */
export async function lastWords(host: Host, listed: ListedProcess): Promise<string> {
  const { name, owner } = addressOf(listed)!;
  const fromSeq = Number.MAX_SAFE_INTEGER;
  const process = await host.attachKept(name, { fromSeq, ...(owner === undefined ? {} : { owner }) });
  try {
    const { streams } = await process.snapshot({ maxBytes: LAST_BYTES });
    const stderr = streams.find(({ stream }) => stream === "stderr");
    return new TextDecoder().decode(stderr?.truncated === true ? stderr.tail : stderr?.head).trim();
  } finally {
    await process.detach();
  }
}

/** Asks, then ends them: SIGTERM, on a terminal after SIGHUP, and SIGKILL after two seconds. */
export async function endProcesses(host: Host, all: readonly ListedProcess[]): Promise<void> {
  const running = all.filter((listed) => listed.state !== "closed" && isControllable(listed));
  const [first] = running;
  if (first === undefined) return;
  const isOne = running.length === 1;
  const isSure = await confirm({
    title: isOne ? `End ${titleOf(first)}?` : `End ${running.length} processes?`,
    text: isOne
      ? "It gets SIGTERM, and after two seconds SIGKILL. Everything it started ends, too."
      : "They get SIGTERM, and after two seconds SIGKILL. Everything they started ends, too.",
    action: "End",
    danger: true,
  });
  if (!isSure) return;
  await forEach(running, "ended", (listed) =>
    withControl(host, addressOf(listed)!, async (process) => {
      // Like closing a window: shells ignore SIGTERM.
      if (listed.tty)
        await process.signal("SIGHUP").catch(() => {
          // It has ended, or the server supports only Ctrl-C.
        });
      await process.terminate();
    }),
  );
}

/** Forgets ended processes: their output is gone and their names are free. */
export async function forgetProcesses(host: Host, all: readonly ListedProcess[]): Promise<void> {
  const ended = all.filter((listed) => listed.state === "closed" && isControllable(listed));
  await forEach(ended, "forgotten", async (listed) => {
    const process = await attach(host, addressOf(listed)!);
    await process.detach({ forget: true });
  });
}

/** Acts on all, a few at a time, and shows at once what has changed. */
async function forEach(
  all: readonly ListedProcess[],
  done: string,
  act: (listed: ListedProcess) => Promise<void>,
): Promise<void> {
  const attemptOne = (listed: ListedProcess): Promise<boolean> =>
    attempt(`${titleOf(listed)} was not ${done}`, () => act(listed));
  for (let index = 0; index < all.length; index += AT_ONCE)
    await Promise.all(all.slice(index, index + AT_ONCE).map(attemptOne));
  await refreshProcesses();
}

async function withControl(
  host: Host,
  address: ProcessAddress,
  act: (process: RemoteProcess) => Promise<void>,
): Promise<void> {
  const process = await attach(host, address);
  try {
    await act(process);
  } finally {
    await process.detach();
  }
}

/** Controls a process without reading its output. */
function attach(host: Host, { name, owner }: ProcessAddress): Promise<RemoteProcess> {
  const fromSeq = Number.MAX_SAFE_INTEGER;
  return host.attachKept(name, { mode: "control", fromSeq, ...(owner === undefined ? {} : { owner }) });
}
