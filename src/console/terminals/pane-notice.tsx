import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ExitReport } from "../../client/browser.ts";
import { attempt } from "../connection/attempt.ts";
import { describeError } from "../connection/describe-error.ts";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { pathTo } from "../frame/router.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { terminalKey, type PaneLayout } from "./layout.ts";
import type { PaneModel } from "./pane-model.ts";
import { startAgain } from "./start-terminal.ts";

export interface PaneNoticeProps {
  readonly model: PaneModel;
  readonly pane: PaneLayout;
  readonly onClose: (() => void) | undefined;
  readonly onMode: ((mode: PaneLayout["mode"]) => void) | undefined;
  readonly onStarted: () => void;
}

/** A notice below the screen: that the terminal has ended, is read-only, or has the size of another window. */
export function PaneNotice({ model, pane, onClose, onMode, onStarted }: PaneNoticeProps) {
  const host = useHost();
  const isStarting = useSignal(false);
  const state = model.state.value;
  // A terminal that ended with its server is there for a moment before the page is connected to the next one.
  const isBusy = isStarting.value || !serverLink.isConnected.value;
  const act = async (failure: string, work: () => Promise<void>): Promise<void> => {
    isStarting.value = true;
    await attempt(`${visibleText(pane.name)} was not ${failure}`, work);
    isStarting.value = false;
  };
  const again = isAllowed("start") ? (
    <Button
      kind="primary"
      icon="play"
      disabled={isBusy}
      onClick={() =>
        void act("started again", async () => {
          model.leaveScreen();
          await startAgain(host, pane, model.grid.value);
          onStarted();
        })
      }
    >
      Start again
    </Button>
  ) : null;
  const close = onClose === undefined ? null : <Button onClick={onClose}>Close</Button>;
  if (state.kind === "ended")
    return (
      <Notice text={endText(state.report)} isBad={state.report.exitCode !== 0}>
        {state.mode === "follow" ? null : (
          <>
            {again}
            <Button
              icon="trash"
              title="Deletes its output and frees its name"
              disabled={isBusy}
              onClick={() =>
                void act("forgotten", async () => {
                  await model.forget();
                  onClose?.();
                })
              }
            >
              Forget
            </Button>
          </>
        )}
        {close}
      </Notice>
    );
  if (state.kind === "missing") {
    const why =
      serverLink.sessions.value > 1
        ? "The server was restarted, and the terminal ended with it."
        : "The server has no terminal of this name.";
    return (
      <Notice text={`${visibleText(pane.name)} is gone. ${why}`} isBad>
        {pane.owner === undefined && pane.mode === "control" ? again : null}
        {close}
      </Notice>
    );
  }
  if (state.kind === "lost")
    return <Notice text="Not connected to the server: your keys are not sent until it is back." isBad />;
  if (state.kind === "unsuitable")
    return (
      <Notice text={`${visibleText(pane.name)} does not run on a terminal.`}>
        <a class="button plain" href={pathTo("/p", terminalKey(pane))}>
          Show its output
        </a>
        {close}
      </Notice>
    );
  if (state.kind === "failed") {
    const { text, remedy } = describeError(state.error);
    return (
      <Notice text={remedy === undefined ? text : `${text}. ${remedy}`} isBad>
        <Button icon="refresh" onClick={onStarted}>
          Try again
        </Button>
        {close}
      </Notice>
    );
  }
  if (model.isReadOnly)
    return (
      <Notice
        text="You are only watching: your keys are not sent."
        badge={<Badge kind="accent">Read-only</Badge>}
      >
        {pane.mode === "follow" && onMode !== undefined ? (
          <Button icon="keyboard" onClick={() => onMode("control")}>
            Take control
          </Button>
        ) : null}
      </Notice>
    );
  if (model.isForeignSize.value) {
    const { cols, rows } = model.grid.value;
    return (
      <Notice
        text={`${cols} × ${rows}, the window of the person who typed last. Type to resize it to yours.`}
      />
    );
  }
  return null;
}

interface NoticeProps {
  readonly text: string;
  readonly isBad?: boolean;
  readonly badge?: ComponentChildren;
  readonly children?: ComponentChildren;
}

function Notice({ text, isBad = false, badge, children }: NoticeProps) {
  return (
    <div class={isBad ? "term-notice bad" : "term-notice"} role="status">
      {badge}
      <p>{text}</p>
      {children}
    </div>
  );
}

function endText({ exitCode, signal, timedOut, killedBy }: ExitReport): string {
  if (timedOut === true) return "Ended: timed out.";
  if (signal !== undefined)
    return `Ended by ${visibleText(signal)}${killedBy === "client" ? ", on request" : ""}.`;
  return exitCode === null ? "Ended." : `Exited with status ${exitCode}.`;
}
