import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { ExitReport } from "../../client/browser.ts";
import { describeError, describeFailure } from "../connection/describe-error.ts";
import { isAllowed, serverLink } from "../connection/server-link.ts";
import { useHost } from "../connection/use-host.ts";
import { pathTo } from "../frame/router.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { toast } from "../ui/toast.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { lastCommand } from "./last-commands.ts";
import { terminalKey, type PaneLayout } from "./layout.ts";
import type { PaneModel } from "./pane-model.tsx";
import { startAgain } from "./start-terminal.ts";

export interface PaneNoticeProps {
  readonly model: PaneModel;
  readonly pane: PaneLayout;
  readonly isReadOnly: boolean;
  readonly onClose: (() => void) | undefined;
  readonly onMode: ((mode: PaneLayout["mode"]) => void) | undefined;
  readonly onStarted: () => void;
}

/** What there is to say about a terminal, below its screen: that it has ended, that one only looks, whose size it has. */
export function PaneNotice({ model, pane, isReadOnly, onClose, onMode, onStarted }: PaneNoticeProps) {
  const host = useHost();
  const isStarting = useSignal(false);
  const state = model.state.value;
  // A terminal that ended with its server is there for a moment before the page is connected to the next one.
  const isBusy = isStarting.value || !serverLink.isConnected.value;
  const act = async (failure: string, work: () => Promise<void>): Promise<void> => {
    isStarting.value = true;
    try {
      await work();
    } catch (error) {
      toast({ kind: "bad", ...describeFailure(`${visibleText(pane.name)} was not ${failure}`, error) });
    } finally {
      isStarting.value = false;
    }
  };
  const again = isAllowed("start") ? (
    <Button
      kind="primary"
      icon="play"
      disabled={isBusy}
      onClick={() =>
        void act("started again", async () => {
          model.leaveScreen();
          await startAgain(host, pane.name, lastCommand(terminalKey(pane)), model.grid.value);
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
              title="Its output is gone then, and its name is free"
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
      <Notice text={`${visibleText(pane.name)} is not there any more. ${why}`} isBad>
        {pane.owner === undefined && pane.mode === "control" ? again : null}
        {close}
      </Notice>
    );
  }
  if (state.kind === "lost")
    return (
      <Notice
        text="There is no connection to the server: what you type goes nowhere until it is back."
        isBad
      />
    );
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
  if (isReadOnly)
    return (
      <Notice
        text="You only look on: what you type goes nowhere."
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
        text={`${cols} × ${rows}, the window of the person who typed last. Type, and it takes the size of yours.`}
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
  if (timedOut === true) return "Ended: its time was over.";
  if (signal !== undefined)
    return `Ended by ${visibleText(signal)}${killedBy === "client" ? ", as somebody asked" : ""}.`;
  return exitCode === null ? "Ended." : `Ended with status ${exitCode}.`;
}
