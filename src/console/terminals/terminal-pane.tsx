import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useHost } from "../connection/use-host.ts";
import { Progress } from "../ui/progress.tsx";
import { terminalKey, type PaneLayout } from "./layout.ts";
import { PaneModel } from "./pane-model.tsx";
import { PaneNotice } from "./pane-notice.tsx";
import { PhoneKeys } from "./phone-keys.tsx";
import { SearchBar } from "./search-bar.tsx";

export interface TerminalPaneProps {
  readonly pane: PaneLayout;
  /** Takes the keyboard when it is opened, and when this becomes true. */
  readonly hasFocus: boolean;
  readonly onFocus?: () => void;
  /** Shown in the pane when there is no such terminal any more, or it has ended. */
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
  // At once: what is typed next belongs to this pane.
  useLayoutEffect(() => {
    if (hasFocus) model.value?.focus();
  }, [hasFocus, model.value]);
  const shown = model.value;
  const state = shown?.state.value;
  const isReadOnly = state !== undefined && "mode" in state && state.mode === "follow";
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
        {shown?.hovered.value === undefined ? null : <div class="term-link">{shown.hovered.value}</div>}
      </div>
      {shown === undefined ? null : (
        <PaneNotice
          model={shown}
          pane={pane}
          isReadOnly={isReadOnly}
          onClose={onClose}
          onMode={onMode}
          onStarted={onStarted}
        />
      )}
      {shown?.pasting.value === undefined ? null : (
        <Progress
          label="Pasting"
          value={shown.pasting.value.sent}
          max={shown.pasting.value.total}
          onStop={shown.pasting.value.stop}
        />
      )}
      {shown === undefined || isReadOnly ? null : <PhoneKeys model={shown} />}
    </div>
  );
}
