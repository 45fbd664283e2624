import { describeFailure } from "../connection/describe-error.ts";
import { copyAndSay } from "../ui/copy-text.ts";
import type { MenuItem } from "../ui/menu.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { ask, fleet } from "./fleet-link.ts";
import type { Machine } from "./fleet-messages.ts";
import { addressOf, type MachineAddress } from "./machine-address.ts";

/** Opens the page of a machine in a tab of its own. */
export function openMachine({ id }: Machine, view: MachineAddress["view"]): void {
  // The tab gets a copy of this one's access, and gives it up when it goes on to another origin.
  window.open(addressOf({ id, view }), "_blank");
}

/** Keeps new work from a machine, or lets it have work again. */
export async function setCordoned({ id }: Pick<Machine, "id">, cordoned: boolean): Promise<void> {
  const name = visibleText(id);
  try {
    await ask(cordoned ? "cordon" : "uncordon", id);
  } catch (error) {
    toast({ kind: "bad", ...describeFailure(`${name} stays as it is`, error) });
    return;
  }
  if (!cordoned) toast({ kind: "good", text: `${name} gets new work again.` });
  else
    toast({
      kind: "good",
      text: `${name} gets no new work. What runs there goes on.`,
      action: { title: "Undo", run: () => void setCordoned({ id }, false) },
    });
}

/** Whether new work can be kept from it: a machine that is about to end gets none anyway. */
export function mayCordon({ state }: Machine): boolean {
  return state !== "draining";
}

function cordonTitle({ state }: Machine): string {
  return state === "cordoned" ? "Uncordon: give it new work again" : "Cordon: give it no new work";
}

export function menuOf(machine: Machine): readonly MenuItem[] {
  const name = `${fleet.name.value}/${machine.id}`;
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
      title: "Open its terminals",
      icon: "terminal",
      keys: "t",
      run: () => openMachine(machine, "terminals"),
    },
    ...(mayCordon(machine)
      ? [
          {
            id: "cordon",
            title: cordonTitle(machine),
            icon: machine.state === "cordoned" ? "play" : "pause",
            keys: "c",
            run: () => void setCordoned(machine, machine.state !== "cordoned"),
          } as const,
        ]
      : []),
    {
      id: "copy",
      title: "Copy its name for -H",
      icon: "copy",
      run: () => void copyAndSay(name, `${visibleText(name)} is in the clipboard.`),
    },
  ];
}
