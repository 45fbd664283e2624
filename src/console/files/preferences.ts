import { effect, signal } from "@preact/signals";
import { readStored } from "../frame/read-stored.ts";
import type { Order } from "./entries.ts";

const KEY = "exec-server-files";

const stored = (readStored(localStorage, KEY) ?? {}) as Record<string, unknown>;
const storedOrder = stored["order"] as Order | null | undefined;
const isOrder = storedOrder != null && ["name", "size", "modified"].includes(storedOrder.column);

/** How directories are listed. Kept in the browser. */
export const order = signal<Order>(isOrder ? storedOrder : { column: "name", isDescending: false });
export const showsHidden = signal(stored["showsHidden"] === true);
/** Whether a tree stands beside files. */
export const showsTree = signal(stored["showsTree"] !== false);

effect(() => {
  const kept = { order: order.value, showsHidden: showsHidden.value, showsTree: showsTree.value };
  localStorage.setItem(KEY, JSON.stringify(kept));
});
