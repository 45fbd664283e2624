import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useHost } from "../connection/use-host.ts";
import { Progress } from "../ui/progress.tsx";
import { terminalKey, type PaneLayout } from "./layout.ts";
import { PaneModel } from "./pane-model.ts";
import { PaneNotice } from "./pane-notice.tsx";
import { SearchBar } from "./search-bar.tsx";

const KEYS = { Esc: "\u001b", Tab: "\t" };
const ARROWS = [
  ["←", "D", "Left"],
  ["↓", "B", "Down"],
  ["↑", "A", "Up"],
  ["→", "C", "Right"],
] as const;
const CHARACTERS = ["|", "/", "-", "~"] as const;

export interface TerminalPaneProps {
  readonly pane: PaneLayout;
  /** Takes the keyboard when it is opened, and when this becomes true. */
  readonly hasFocus: boolean;
  readonly onFocus?: () => void;
  /** Shown in the pane when the terminal is gone or has ended. */
  readonly onClose?: () => void;
  /** Opens the same terminal in the other mode. */
  readonly onMode?: (mode: PaneLayout["mode"]) => void;
}

/** A terminal of the server. */
export function TerminalPane(props: TerminalPaneProps) {
  // Another start or another terminal is another pane, with an empty screen.
  const starts = useSignal(0);
  const { pane } = props;
  return (
    <OpenPane
      {...props}
      key={`${terminalKey(pane)} ${pane.mode} ${starts.value}`}
      onStarted={() => {
        starts.value += 1;
      }}
    />
  );
}

function OpenPane({
  pane,
  hasFocus,
  onFocus,
  onClose,
  onMode,
  onStarted,
}: TerminalPaneProps & { readonly onStarted: () => void }) {
  const host = useHost();
  const room = useRef<HTMLDivElement>(null);
  const model = useSignal<PaneModel | undefined>(undefined);
  useEffect(() => {
    const opened = new PaneModel(host, pane, room.current!);
    model.value = opened;
    return () => opened.dispose();
  }, []);
  // Immediately: the next keys belong to this pane.
  useLayoutEffect(() => {
    if (hasFocus) model.value?.focus();
  }, [hasFocus, model.value]);
  const shown = model.value;
  const state = shown?.state.value;
  return (
    <div
      class="term-pane"
      data-state={state?.kind ?? "opening"}
      data-ringing={shown?.isRinging.value ? "" : undefined}
      data-foreign={shown?.isForeignSize.value ? "" : undefined}
      onFocusIn={onFocus}
      onPasteCapture={(event) => {
        const text = event.clipboardData?.getData("text/plain");
        if (text === undefined || !(event.target as Element).closest("[data-keys=terminal]")) return;
        event.preventDefault();
        event.stopPropagation();
        void shown?.paste(text);
      }}
    >
      {shown?.isSearching.value ? <SearchBar model={shown} /> : null}
      <div class="term-stage">
        <div
          class="term-room"
          data-keys="terminal"
          aria-label={`Terminal ${pane.name}`}
          role="group"
          ref={room}
        />
        {shown?.hovered.value === undefined ? null : (
          <div class="term-link one-line">{shown.hovered.value}</div>
        )}
      </div>
      {shown === undefined ? null : (
        <PaneNotice model={shown} pane={pane} onClose={onClose} onMode={onMode} onStarted={onStarted} />
      )}
      {shown?.pasting.value === undefined ? null : (
        <Progress
          label="Pasting"
          value={shown.pasting.value.sent}
          max={shown.pasting.value.total}
          onStop={shown.pasting.value.stop}
        />
      )}
      {shown === undefined || shown.isReadOnly ? null : <PhoneKeys model={shown} />}
    </div>
  );
}

/** Keys that the keyboard of a phone does not have. */
function PhoneKeys({ model }: { readonly model: PaneModel }) {
  const arrow = (letter: string): string =>
    `\u001b${model.emulator.terminal.modes.applicationCursorKeysMode ? "O" : "["}${letter}`;
  const key = (label: string, name: string, onClick: () => void, pressed?: boolean) => (
    <button
      key={label}
      type="button"
      aria-label={name}
      aria-pressed={pressed}
      // The terminal keeps the focus, and the phone its keyboard.
      onPointerDown={(event) => event.preventDefault()}
      onClick={onClick}
    >
      {label}
    </button>
  );
  return (
    <div class="term-keys" role="toolbar" aria-label="Keys">
      {Object.entries(KEYS).map(([name, keys]) => key(name, name, () => model.press(keys)))}
      {key(
        "Ctrl",
        "Ctrl, for the next key",
        () => {
          model.isControlHeld.value = !model.isControlHeld.value;
          model.focus();
        },
        model.isControlHeld.value,
      )}
      {ARROWS.map(([label, letter, name]) => key(label, name, () => model.press(arrow(letter))))}
      {CHARACTERS.map((character) => key(character, character, () => model.press(character)))}
    </div>
  );
}
