import { signal } from "@preact/signals";
import { IconButton } from "./button.tsx";
import { Icon } from "./icon.tsx";

export interface Toast {
  readonly kind: "info" | "good" | "bad";
  readonly text: string;
  /** The remedy for the user. */
  readonly remedy?: string | undefined;
  readonly action?: { readonly title: string; readonly run: () => void } | undefined;
}

interface ShownToast extends Toast {
  readonly id: number;
}

const SHOWN_MS = 5000;
const MAX_TOASTS = 4;

const toasts = signal<readonly ShownToast[]>([]);
let lastId = 0;

/** Says something that needs no answer. Failures stay until they are closed. */
export function toast(message: Toast): void {
  const id = ++lastId;
  toasts.value = [...toasts.value, { ...message, id }].slice(-MAX_TOASTS);
  if (message.kind !== "bad") setTimeout(() => dismiss(id), SHOWN_MS);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((shown) => shown.id !== id);
}

/** The place of messages, once in the page. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, remedy, action }) => (
        <div key={id} class={`toast ${kind}`}>
          {kind === "info" ? null : <Icon name={kind === "good" ? "check" : "warning"} />}
          <div class="toast-text">
            <p>{text}</p>
            {remedy === undefined ? null : <p class="toast-remedy">{remedy}</p>}
          </div>
          {action === undefined ? null : (
            <button
              class="toast-action"
              type="button"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.title}
            </button>
          )}
          <IconButton icon="close" label="Close this message" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
