import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ExecError } from "../../client/browser.ts";
import { describeError } from "../connection/describe-error.ts";
import { useHost } from "../connection/use-host.ts";
import { useCommands } from "../frame/commands.ts";
import { readStored } from "../frame/read-stored.ts";
import { navigate } from "../frame/router.ts";
import { IconButton } from "../ui/button.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { Icon } from "../ui/icon.tsx";
import { Keys } from "../ui/keys.tsx";
import { followPointer } from "./follow-pointer.ts";
import type { PaneLayout } from "./layout.ts";
import { loginShell, startTerminal } from "./start-terminal.ts";
import type { TerminalPaneProps } from "./terminal-pane.tsx";

const NAME = "console";
const PANE: PaneLayout = { kind: "pane", name: NAME, mode: "control" };
const KEY = "exec-server-terminal-dock";
const HEIGHT = { least: 120, usual: 280, step: 24 };

/** xterm.js is loaded in parallel with what is below the view, and only on demand. */
const loadPane = () => import("./terminal-pane.tsx");
if (storedDock().isOpen) loadPane().catch(() => {}); // Said when it is shown.

/** One terminal that is always at hand, below a view. It starts when the user first opens it. */
export function TerminalDock() {
  const host = useHost();
  const stored = storedDock();
  const isOpen = useSignal(stored.isOpen);
  const height = useSignal(stored.height);
  const Pane = useSignal<FunctionComponent<TerminalPaneProps> | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  const dock = useRef<HTMLElement>(null);
  useEffect(() => {
    localStorage.setItem(KEY, JSON.stringify({ isOpen: isOpen.value, height: height.value }));
  }, [isOpen.value, height.value]);
  useEffect(() => {
    if (!isOpen.value) return;
    failure.value = undefined;
    const ready = async (): Promise<void> => {
      const [{ TerminalPane }] = await Promise.all([loadPane(), makeReady(host)]);
      Pane.value = TerminalPane;
    };
    ready().catch((error: unknown) => {
      failure.value = error;
    });
  }, [isOpen.value]);
  /** Just opened, so that the next keys belong there. */
  const isAsked = useRef(false);
  const toggle = (): void => {
    isAsked.current = !isOpen.value;
    isOpen.value = !isOpen.value;
  };
  useCommands(() => [
    {
      id: "dock",
      title: "Show or hide the terminal panel",
      group: "Terminals",
      keys: "Ctrl+Shift+Y",
      run: toggle,
    },
  ]);
  const setHeight = (value: number): void => {
    const most = Math.max(HEIGHT.least, (dock.current?.parentElement?.clientHeight ?? innerHeight) - 160);
    height.value = Math.round(Math.min(most, Math.max(HEIGHT.least, value)));
  };
  return (
    <section
      class="term-dock"
      aria-label="Terminal"
      ref={dock}
      style={isOpen.value ? { height: `${height.value}px` } : undefined}
    >
      {isOpen.value ? (
        <div
          class="term-dock-border"
          role="separator"
          tabIndex={0}
          aria-orientation="horizontal"
          aria-label="Height of the terminal"
          aria-valuenow={height.value}
          onKeyDown={(event) => {
            const steps = { ArrowUp: 1, ArrowDown: -1 }[event.key];
            if (steps === undefined) return;
            event.preventDefault();
            setHeight(height.value + steps * HEIGHT.step);
          }}
          onPointerDown={(event) => {
            const { bottom } = event.currentTarget.parentElement!.getBoundingClientRect();
            followPointer(event, ({ clientY }) => setHeight(bottom - clientY));
          }}
        />
      ) : null}
      <header class="term-dock-head">
        <button
          class="term-dock-toggle"
          type="button"
          aria-expanded={isOpen.value}
          title={isOpen.value ? "Hide the terminal" : "Open a terminal"}
          onClick={toggle}
        >
          <Icon name={isOpen.value ? "chevron-down" : "chevron-right"} />
          Terminal
          <Keys keys="Ctrl+Shift+Y" />
        </button>
        {isOpen.value ? (
          <IconButton icon="split" label="Open under Terminals" onClick={() => navigate(`/t/${NAME}`)} />
        ) : null}
      </header>
      {!isOpen.value ? null : failure.value !== undefined ? (
        <div class="term-dock-failed">
          <ErrorBox {...describeError(failure.value)} />
        </div>
      ) : Pane.value === undefined ? null : (
        <Pane.value pane={PANE} hasFocus={isAsked.current} />
      )}
    </section>
  );
}

/** Starts the terminal unless it exists. A user who may not start one may still follow it. */
async function makeReady(host: ReturnType<typeof useHost>): Promise<void> {
  try {
    await startTerminal(host, NAME, loginShell(host));
  } catch (error) {
    const exists = error instanceof ExecError && ["ALREADY_EXISTS", "PERMISSION_DENIED"].includes(error.code);
    if (!exists) throw error;
  }
}

function storedDock(): { readonly isOpen: boolean; readonly height: number } {
  const { isOpen, height } = (readStored(localStorage, KEY) ?? {}) as Record<string, unknown>;
  const isHeight = typeof height === "number" && height >= HEIGHT.least;
  return { isOpen: isOpen === true, height: isHeight ? height : HEIGHT.usual };
}
