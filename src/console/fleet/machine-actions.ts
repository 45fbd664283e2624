import { attempt } from "../connection/attempt.ts";
import { copyAndSay } from "../ui/copy-text.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { ask, fleet } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";
import { addressOf, type MachineAddress } from "./machine-address.ts";

/** Opens a machine's page in a new tab. */
export function openMachine({ id }: Machine, view: MachineAddress["view"]): void {
  // The tab gets a copy of this one's access, and discards it when it navigates to another origin.
  window.open(addressOf({ id, view }), "_blank");
}

/** Keeps new work from a machine, or lets it have work again. */
export async function switchCordon({ id, state }: Pick<Machine, "id" | "state">): Promise<void> {
  const name = visibleText(id);
  const isCordoned = state === "cordoned";
  const isDone = await attempt(`${name} was not changed`, () => ask(isCordoned ? "uncordon" : "cordon", id));
  if (!isDone) return;
  if (isCordoned) toast({ kind: "good", text: `${name} gets new work again.` });
  else
    toast({
      kind: "good",
      text: `${name} gets no new work. Processes there keep running.`,
      action: { title: "Undo", run: () => void switchCordon({ id, state: "cordoned" }) },
    });
}

/** Whether it can be cordoned: a machine that is about to end gets no new work anyway. */
export function mayCordon({ state }: Machine): boolean {
  return state !== "draining";
}

export function menuOf(machine: Machine): readonly MenuItem[] {
  const name = `${fleet.name.value}/${machine.id}`;
  const isCordoned = machine.state === "cordoned";
  return [
    {
      id: "open",
      title: "Open its console",
      icon: "processes",
      keys: "Enter",
      run: () => openMachine(machine, "console"),
    },
    {
      id: "terminal",
      title: "Open a terminal there",
      icon: "terminal",
      keys: "t",
      run: () => openMachine(machine, "terminal"),
    },
    ...(mayCordon(machine)
      ? [
          {
            id: "cordon",
            title: isCordoned ? "Uncordon: give it new work again" : "Cordon: give it no new work",
            icon: isCordoned ? "play" : "pause",
            keys: "c",
            run: () => void switchCordon(machine),
          } as const,
        ]
      : []),
    {
      id: "copy",
      title: "Copy its name for -H",
      icon: "copy",
      run: () => void copyAndSay(name, `${visibleText(name)} was copied.`),
    },
  ];
}
