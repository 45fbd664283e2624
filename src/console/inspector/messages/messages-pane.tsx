import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { inGroup, useCommands } from "../../frame/commands.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import type { WireMethod } from "../wire-table.ts";
import { filterMessages, type MessageFilter } from "./filter-messages.ts";
import { MessageDetails } from "./message-details.tsx";
import { MessageList } from "./message-list.tsx";
import { type LoggedMessage, messageLog } from "./message-log.ts";

/** The messages of the page's connection as they pass. */
export function MessagesPane({ methods }: { readonly methods: readonly WireMethod[] }) {
  const filter = useSignal<MessageFilter>({ text: "", direction: undefined });
  const selected = useSignal<LoggedMessage | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);
  void messageLog.news.value;
  const { messages } = messageLog;
  const shown = filterMessages(messages, filter.value);
  const isOn = messageLog.isOn.value;
  const select = (message: LoggedMessage | undefined): void => {
    selected.value = message;
  };
  const toggle = (): void => (isOn ? messageLog.pause() : messageLog.start());
  const clear = (): void => {
    messageLog.clear();
    selected.value = undefined;
  };
  useCommands(
    () =>
      inGroup("Inspector", [
        { id: "insp-filter", title: "Filter the messages", keys: "/", run: () => field.current?.focus() },
        {
          id: "insp-pause",
          title: isOn ? "Pause the messages" : "Resume the messages",
          keys: "Ctrl+Shift+E",
          run: toggle,
        },
        { id: "insp-clear", title: "Clear the messages", run: clear },
      ]),
    [isOn],
  );
  return (
    <div class={`insp-messages${selected.value === undefined ? "" : " with-details"}`}>
      <div class="insp-tools">
        <input
          ref={field}
          type="search"
          aria-label="Filter by method"
          placeholder="Filter by method or id"
          spellcheck={false}
          value={filter.value.text}
          onInput={(event) => {
            filter.value = { ...filter.value, text: event.currentTarget.value };
          }}
        />
        <select
          aria-label="Direction"
          value={filter.value.direction ?? "both"}
          onChange={(event) => {
            const { value } = event.currentTarget;
            filter.value = {
              ...filter.value,
              direction: value === "sent" || value === "received" ? value : undefined,
            };
          }}
        >
          <option value="both">Both directions</option>
          <option value="sent">Sent</option>
          <option value="received">Received</option>
        </select>
        <Button
          icon={isOn ? "pause" : "play"}
          pressed={!isOn}
          title={isOn ? "Pause (Ctrl+Shift+E)" : "Resume (Ctrl+Shift+E)"}
          onClick={toggle}
        >
          {isOn ? "Pause" : "Paused"}
        </Button>
        <IconButton icon="trash" label="Clear the messages" onClick={clear} />
        <span class="insp-count hint number">
          {shown.length === messages.length
            ? `${messages.length.toLocaleString("en")} messages`
            : `${shown.length.toLocaleString("en")} of ${messages.length.toLocaleString("en")}`}
        </span>
      </div>
      {shown.length === 0 ? (
        <EmptyState icon="inspector" {...emptyText(messages.length > 0, isOn)} />
      ) : (
        <MessageList messages={shown} selected={selected.value} onSelect={select} />
      )}
      {selected.value === undefined ? null : (
        <MessageDetails message={selected.value} methods={methods} onSelect={select} />
      )}
    </div>
  );
}

function emptyText(hasMessages: boolean, isOn: boolean): { readonly title: string; readonly text: string } {
  if (hasMessages) return { title: "No matching messages", text: "Change the filter or the direction." };
  if (!isOn) return { title: "Paused", text: "Messages are not recorded until you resume." };
  return {
    title: "No messages yet",
    text: "Everything the page sends and receives appears here, from this view and from all others.",
  };
}
