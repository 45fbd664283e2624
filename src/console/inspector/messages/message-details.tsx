import { useMemo } from "preact/hooks";
import { useHost } from "../../connection/use-host.ts";
import { navigate, pathTo } from "../../frame/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { copyAndSay } from "../../ui/copy-text.ts";
import { formatSize } from "../../../base/amounts.ts";
import { formatMs } from "../../ui/format.ts";
import { visibleText } from "../../../base/visible-text.ts";
import { copiedTarget } from "../copy-button.tsx";
import { requestCode } from "../copy-code.ts";
import { fillForm } from "../forms.ts";
import { beginningsOf } from "../initial-value.ts";
import { type Json, parseJson } from "../json-path.ts";
import { previewJson } from "../json-preview.ts";
import { JsonView } from "../json-view.tsx";
import type { WireMethod } from "../wire-table.ts";
import type { LoggedMessage } from "./message-log.ts";

export interface MessageDetailsProps {
  readonly message: LoggedMessage;
  readonly methods: readonly WireMethod[];
  readonly onSelect: (message: LoggedMessage | undefined) => void;
}

/** One message in full, the related one, and a way to send it again. */
export function MessageDetails({ message, methods, onSelect }: MessageDetailsProps) {
  const host = useHost();
  const { direction, kind, method, text, isCut, size, peer, tookMs } = message;
  const parsed = useMemo(() => (isCut ? undefined : parseJson(text)), [message]);
  const wireMethod =
    kind === "request" && direction === "sent" ? methods.find(({ name }) => name === method) : undefined;
  const params = (parsed as { readonly params?: Json } | undefined)?.params ?? null;
  const again = (): void => {
    if (wireMethod === undefined) return;
    fillForm(wireMethod, params, beginningsOf(wireMethod.name, host));
    navigate(pathTo("/i", wireMethod.name));
  };
  return (
    <section class="insp-details" aria-label="Message">
      <header class="insp-details-head">
        <h2 class="code">{visibleText(method ?? kind)}</h2>
        <IconButton icon="close" label="Close the message" onClick={() => onSelect(undefined)} />
      </header>
      <p class="insp-facts hint">
        <span>
          {kind}, {direction}
        </span>
        <span class="number">{formatSize(size)}</span>
        {tookMs === undefined ? null : <span class="number">{formatMs(tookMs)}</span>}
        {peer === undefined ? null : (
          <button type="button" class="insp-peer" onClick={() => onSelect(peer)}>
            {kind === "request" ? "Show its answer" : "Show its request"}
          </button>
        )}
      </p>
      <div class="insp-details-actions">
        {wireMethod === undefined || parsed === undefined ? null : (
          <>
            <Button icon="edit" onClick={again}>
              Open in the form
            </Button>
            <Button
              kind="quiet"
              icon="copy"
              onClick={() =>
                void copyAndSay(
                  requestCode({ method: wireMethod.name, params }, copiedTarget()),
                  "The code was copied.",
                )
              }
            >
              As TypeScript
            </Button>
          </>
        )}
        <Button kind="quiet" icon="copy" onClick={() => void copyAndSay(text, "The message was copied.")}>
          As JSON
        </Button>
      </div>
      {parsed === undefined ? (
        <div class="insp-json" tabIndex={0} role="region" aria-label="Text of the message">
          <div class="insp-line">
            {visibleText(text)}
            <span class="note">{isCut ? ` … the rest of ${formatSize(size)} was not kept` : ""}</span>
          </div>
        </div>
      ) : (
        <JsonView preview={previewJson(parsed)} label="Text of the message" />
      )}
    </section>
  );
}
