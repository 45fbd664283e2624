import type { ComponentChildren } from "preact";
import { useCommands } from "../frame/commands.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { type Copied, CopyButton } from "./copy-button.tsx";

export interface RequestHeadProps {
  readonly name: string;
  readonly isRunning: boolean;
  readonly canSend: boolean;
  readonly copies: readonly Copied[];
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly onReset: () => void;
  /** Further buttons. */
  readonly children?: ComponentChildren;
}

/** The name of a method, and what can be done with its request. */
export function RequestHead({ canSend, onSend, onStop, onReset, ...props }: RequestHeadProps) {
  const send = (): void => {
    if (canSend) onSend();
  };
  useCommands(() => [
    { id: "insp-send", title: "Send the request", group: "Inspector", keys: "Ctrl+Enter", run: send },
    { id: "insp-stop", title: "Stop waiting for the answer", group: "Inspector", run: onStop },
    { id: "insp-reset", title: "Empty the form", group: "Inspector", run: onReset },
  ]);
  return (
    <header class="insp-head">
      <a class="icon-button insp-back" href="/i" aria-label="All methods">
        <Icon name="chevron-right" />
      </a>
      <h2 class="code">{props.name}</h2>
      <div class="insp-head-actions">
        {props.children}
        <IconButton icon="refresh" label="Empty the form" onClick={onReset} />
        <CopyButton copies={props.copies} />
        {props.isRunning ? (
          // Ignores the second click of a double click on Send, which it has replaced.
          <Button kind="danger" icon="stop" onClick={({ detail }) => (detail < 2 ? onStop() : undefined)}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" icon="play" title="Send (Ctrl+Enter)" disabled={!canSend} onClick={send}>
            Send
          </Button>
        )}
      </div>
    </header>
  );
}
