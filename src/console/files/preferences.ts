import { effect, signal } from "@preact/signals";
import type { Order } from "./entries.ts";

const KEY = "exec-server-files";

interface Kept {
  readonly order: Order;
  readonly showsHidden: boolean;
}

const kept = stored();

/** How directories are listed. Kept in the browser. */
export const order = signal<Order>(kept.order);
export const showsHidden = signal(kept.showsHidden);

effect(() => {
  localStorage.setItem(KEY, JSON.stringify({ order: order.value, showsHidden: showsHidden.value }));
});

function stored(): Kept {
  const usual: Kept = { order: { column: "name", isDescending: false }, showsHidden: false };
  try {
    const { order, showsHidden } = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Kept>;
    const isOrder = order !== undefined && ["name", "size", "modified"].includes(order.column);
    return {
      order: isOrder ? order : usual.order,
      showsHidden: showsHidden === true,
    };
  } catch {
    return usual;
  }
}
