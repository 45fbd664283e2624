import type { Host, ListedProcess, RemoteProcess, SignalName } from "../../client/browser.ts";
import { describeFailure } from "../connection/describe-error.ts";
import { isAllowed } from "../connection/server-link.ts";
import { confirm } from "../ui/confirm.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { addressOf, type ProcessAddress } from "./process-address.ts";
import { refreshProcesses } from "./process-list.ts";

/** Signals that people send, with what they usually mean. */
export const SIGNALS: readonly { readonly signal: SignalName; readonly meaning: string }[] = [
  { signal: "SIGINT", meaning: "interrupt, as Ctrl+C" },
  { signal: "SIGTERM", meaning: "ask to end" },
  { signal: "SIGHUP", meaning: "hang up, or read settings again" },
  { signal: "SIGSTOP", meaning: "pause" },
  { signal: "SIGCONT", meaning: "go on" },
  { signal: "SIGUSR1", meaning: "what the program makes of it" },
  { signal: "SIGUSR2", meaning: "what the program makes of it" },
  { signal: "SIGQUIT", meaning: "quit with a core dump" },
  { signal: "SIGKILL", meaning: "end at once" },
];

/** More at once would only wait for each other. */
const AT_ONCE = 8;

/** What one calls a process. */
function titleOf({ name, label, argv, processId }: ListedProcess): string {
  return visibleText(name ?? label ?? argv[0] ?? processId);
}

/** Whether the person may signal and end it. Processes of other connections belong to those. */
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

/** Asks, then ends them: SIGTERM, on a terminal after SIGHUP, and SIGKILL after two seconds. */
export async function endProcesses(host: Host, all: readonly ListedProcess[]): Promise<void> {
  const running = all.filter((listed) => listed.state !== "closed" && isControllable(listed));
  const [first] = running;
  if (first === undefined) return;
  const isSure = await confirm({
    title: running.length === 1 ? `End ${titleOf(first)}?` : `End ${running.length} processes?`,
    text: "They are asked to end, and what is left after two seconds is killed. What they started ends as well.",
    action: "End",
    danger: true,
  });
  if (!isSure) return;
  await forEach(running, "ended", (listed) =>
    withControl(host, addressOf(listed)!, async (process) => {
      // As when a window is closed: shells ignore SIGTERM.
      if (listed.tty)
        await process.signal("SIGHUP").catch(() => {
          // It has ended, or the server knows only Ctrl-C.
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
  const actAndSay = (listed: ListedProcess): Promise<void> =>
    attempt(`${titleOf(listed)} was not ${done}`, () => act(listed));
  for (let index = 0; index < all.length; index += AT_ONCE)
    await Promise.all(all.slice(index, index + AT_ONCE).map(actAndSay));
  await refreshProcesses();
}

/** Says what went wrong. */
async function attempt(failure: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    toast({ kind: "bad", ...describeFailure(failure, error) });
  }
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

/** Controls a process without reading what it has written. */
function attach(host: Host, { name, owner }: ProcessAddress): Promise<RemoteProcess> {
  const fromSeq = Number.MAX_SAFE_INTEGER;
  return host.attachKept(name, { mode: "control", fromSeq, ...(owner === undefined ? {} : { owner }) });
}
