import type { Host, ListedProcess } from "../../client/browser.ts";
import { isAllowed } from "../connection/server-link.ts";
import { navigate } from "../frame/router.ts";
import { openStart } from "./open-start.tsx";
import { commandLine } from "../ui/command-line.ts";
import { copyAndSay } from "../ui/copy-text.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { addressOf, pathOf } from "../processes/process-address.ts";
import {
  endProcesses,
  forgetProcesses,
  isControllable,
  SIGNALS,
  sendSignal,
} from "../processes/process-actions.ts";

/** Actions on a process. */
export function menuOf(host: Host, listed: ListedProcess, onSignals: () => void): readonly MenuItem[] {
  const address = addressOf(listed);
  const controllable = isControllable(listed);
  const items: (MenuItem | false)[] = [
    address !== undefined &&
      listed.tty && {
        id: "terminal",
        title: "Open the terminal",
        icon: "terminal",
        keys: "Enter",
        run: () => navigate(pathOf(address, { tty: true })),
      },
    address !== undefined && {
      id: "output",
      title: "Open the output",
      icon: "eye",
      ...(listed.tty ? {} : { keys: "Enter" }),
      run: () => navigate(pathOf(address, { tty: false })),
    },
    isAllowed("start") && {
      id: "again",
      title: "Start again…",
      icon: "refresh",
      run: () => openStart(startedLike(listed)),
    },
    {
      id: "copy",
      title: "Copy the command",
      icon: "copy",
      run: () => void copyAndSay(commandLine(listed.argv), "The command was copied."),
    },
    controllable &&
      listed.state === "running" && {
        id: "signal",
        title: "Send a signal…",
        icon: "system",
        keys: "x",
        run: onSignals,
      },
    controllable &&
      listed.state !== "closed" && {
        id: "end",
        title: "End…",
        icon: "stop",
        keys: "Delete",
        danger: true,
        run: () => void endProcesses(host, [listed]),
      },
    controllable &&
      listed.state === "closed" && {
        id: "forget",
        title: "Forget it and its output",
        icon: "trash",
        danger: true,
        run: () => void forgetProcesses(host, [listed]),
      },
  ];
  return items.filter((item) => item !== false);
}

export function signalMenuOf(host: Host, listed: ListedProcess): readonly MenuItem[] {
  return SIGNALS.map(({ signal, meaning }) => ({
    id: signal,
    title: `${signal} · ${meaning}`,
    danger: signal === "SIGKILL",
    run: () => void sendSignal(host, listed, signal),
  }));
}

/** Initial values of the start dialog for starting the same again. The environment is unknown. */
export function startedLike({ argv, cwd, tty, name, hasInput = false }: ListedProcess) {
  return { argv, cwdUri: cwd, isTerminal: tty, name, takesInput: hasInput };
}
