import { computed, signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isAllowed } from "../connection/server-link.ts";
import { keyName, type KeyContext, lookUp, mayTake } from "./keys.ts";

/** Something a person can do, by the palette and perhaps by keys. */
export interface Command {
  readonly id: string;
  readonly title: string;
  /** Under which heading it is listed. */
  readonly group: string;
  /** Such as `n`, `g p` (one after the other), `Ctrl+K`; see `mayTake` for which work in fields and terminals. */
  readonly keys?: string | undefined;
  /** Hidden from users without this right. */
  readonly right?: string;
  readonly run: () => void;
}

/** A key that is pressed later does not continue a sequence. */
const SEQUENCE_MS = 1200;

const sets = signal<ReadonlyMap<symbol, readonly Command[]>>(new Map());

/** Everything that the person can do now. Of two commands with the same id, or the same keys, the later one counts. */
export const commands = computed(() => {
  const byId = new Map<string, Command>();
  const byKeys = new Map<string, Command>();
  for (const set of sets.value.values())
    for (const command of set) {
      if (command.right !== undefined && !isAllowed(command.right)) continue;
      byId.delete(command.id);
      byId.set(command.id, command);
      if (command.keys !== undefined) byKeys.set(command.keys, command);
    }
  return Array.from(byId.values(), (command): Command => {
    const hasKeys = command.keys !== undefined && byKeys.get(command.keys) === command;
    return hasKeys ? command : { ...command, keys: undefined };
  });
});

/** Commands under one heading. */
export function inGroup(group: string, members: readonly Omit<Command, "group">[]): readonly Command[] {
  return members.map((command) => ({ ...command, group }));
}

/** Adds commands for as long as the component is shown. Titles, keys and their number may change with `deps`. */
export function useCommands(make: () => readonly Command[], deps: readonly unknown[] = []): void {
  const latest = useRef(make);
  latest.current = make;
  // Before the next key, which belongs to the new view.
  useLayoutEffect(() => {
    const key = Symbol("commands");
    const run = (id: string): void =>
      latest
        .current()
        .find((command) => command.id === id)
        ?.run();
    const added = make().map((command) => ({ ...command, run: () => run(command.id) }));
    sets.value = new Map(sets.value).set(key, added);
    return () => {
      const left = new Map(sets.value);
      left.delete(key);
      sets.value = left;
    };
  }, deps);
}

/** Keys that were pressed while the commands that they may be meant for are being loaded. */
const held: KeyboardEvent[] = [];
const MAX_HELD_KEYS = 16;
const holders = new Set<"view" | "dialog">();

/**
 * While something is loading, queues printable keys for its commands, which the general ones would otherwise take. Then
 * runs the queued keys.
 */
export function holdKeys(holder: "view" | "dialog", isLoading: boolean): void {
  if (isLoading) holders.add(holder);
  else holders.delete(holder);
  if (holders.size === 0) for (const event of held.splice(0)) takeKey(event);
}

/** Runs commands by their keys. The only listener for keys of the page. */
export function listenForKeys(): void {
  // Before terminals and editors see it.
  addEventListener("keydown", takeKey, { capture: true });
}

let pressed = { sequence: "", atMs: 0 };

function takeKey(event: KeyboardEvent): void {
  if (event.isComposing || ["Control", "Shift", "Alt", "Meta"].includes(event.key)) return;
  // A dialog has the keyboard to itself.
  if (document.querySelector("dialog[open]") !== null) return;
  if (isPress(event)) return;
  const context = contextOf(event.target);
  if (holders.size > 0 && keyName(event).length === 1 && context === "page") {
    if (held.length < MAX_HELD_KEYS) held.push(event);
    return;
  }
  // When it was pressed, not when the page had time for it.
  const isNext = pressed.sequence !== "" && event.timeStamp - pressed.atMs <= SEQUENCE_MS;
  const sequence = isNext ? `${pressed.sequence} ${keyName(event)}` : keyName(event);
  const usable = commands.value.filter(({ keys }) => keys !== undefined && mayTake(keys, context));
  const match = lookUp(usable, sequence);
  pressed = { sequence: match === "prefix" ? sequence : "", atMs: event.timeStamp };
  if (match === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  if (match !== "prefix") match.run();
}

/** Whether the key activates the focused element. With Ctrl it is a command, such as one that sends. */
function isPress({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if ((key !== "Enter" && key !== " ") || ctrlKey || metaKey || altKey) return false;
  return target instanceof Element && target.closest(PRESSED) !== null;
}

const PRESSED = "button, a[href], summary, label, input[type=checkbox], input[type=radio]";

function contextOf(target: EventTarget | null): KeyContext {
  if (!(target instanceof HTMLElement)) return "page";
  // Menus and lists have their own arrows.
  if (
    target.closest("[role=menu], [role=listbox], [role=tablist], [role=separator], [data-keys=field]") !==
    null
  )
    return "field";
  if (target.closest("[data-keys=terminal]") !== null) return "terminal";
  const isField = target.matches("input:not([type=checkbox], [type=radio]), textarea, select");
  return isField || target.isContentEditable ? "field" : "page";
}
