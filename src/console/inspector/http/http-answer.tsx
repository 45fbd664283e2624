import { describeError } from "../../connection/describe-error.ts";
import { Badge } from "../../ui/badge.tsx";
import { IconButton } from "../../ui/button.tsx";
import { downloadBlob } from "../../ui/download-blob.ts";
import { ErrorBox } from "../../ui/error-box.tsx";
import { formatBytes, formatMs } from "../../ui/format.ts";
import { visibleText } from "../../../base/visible-text.ts";
import { previewJson } from "../json-preview.ts";
import { JsonView } from "../json-view.tsx";
import { Waiting } from "../waiting.tsx";
import type { HttpCall, HttpResponse } from "./http-call.ts";

/** The response, while its body streams and afterwards. */
export function HttpAnswer({ call }: { readonly call: HttpCall }) {
  const { kind, startedMs, tookMs, response, error } = call.state.value;
  // A response takes the room of an answer also while it streams.
  const room = response === undefined ? kind : "answered";
  return (
    <section class={`insp-answer ${room}`} aria-label="Answer" aria-live="polite">
      {kind === "idle" ? (
        <p class="insp-nothing">The response appears here.</p>
      ) : (
        <header class="insp-answer-head">
          {response === undefined ? null : <StatusBadge status={response.status} />}
          {kind === "running" ? <Waiting sinceMs={startedMs} /> : null}
          {kind === "failed" && response === undefined ? <Badge kind="bad">failed</Badge> : null}
          {kind === "stopped" ? <Badge kind="warn">stopped</Badge> : null}
          {kind === "running" ? null : <span class="number insp-took">{formatMs(tookMs)}</span>}
          {response === undefined ? null : (
            <span class="number insp-took">
              {formatBytes(response.bytes)}, head after {formatMs(response.headMs)}
            </span>
          )}
          {response === undefined ? null : (
            <span class="insp-answer-actions">
              <IconButton
                icon="download"
                label="Download the body"
                onClick={() => downloadBlob(call.body, "body")}
              />
            </span>
          )}
        </header>
      )}
      {kind === "failed" ? (
        <div class="insp-error">
          <ErrorBox
            text={describeError(error).text}
            remedy="Look at the address, and whether the server's machine can reach it."
          />
        </div>
      ) : null}
      {response === undefined ? null : <Response response={response} isWhole={kind === "answered"} />}
    </section>
  );
}

function StatusBadge({ status }: { readonly status: number }) {
  return <Badge kind={status < 300 ? "good" : status < 400 ? "accent" : "bad"}>{status}</Badge>;
}

function Response({ response, isWhole }: { readonly response: HttpResponse; readonly isWhole: boolean }) {
  return (
    <div class="insp-response" tabIndex={0} role="region" aria-label="Response">
      <dl class="insp-response-headers code">
        {response.headers.map(([name, value], index) => (
          <div key={index}>
            <dt>{visibleText(name)}</dt>
            <dd>{visibleText(value)}</dd>
          </div>
        ))}
      </dl>
      <Body response={response} isWhole={isWhole} />
    </div>
  );
}

function Body({
  response: { text, bytes, headers },
  isWhole,
}: {
  readonly response: HttpResponse;
  readonly isWhole: boolean;
}) {
  if (bytes === 0) return <p class="insp-nothing">{isWhole ? "It has no body." : ""}</p>;
  if (text === undefined)
    return <p class="insp-nothing">{formatBytes(bytes)} that are not text. Download them.</p>;
  const json = isWhole && isJson(headers) ? parse(text) : undefined;
  if (json !== undefined) return <JsonView preview={previewJson(json)} label="Body" />;
  return (
    <pre class="insp-body">
      {text.split("\n").map((line, index) => (
        <div key={index}>{visibleText(line)}&nbsp;</div>
      ))}
      {text.length < bytes && isWhole ? <div class="insp-took">The download has the rest.</div> : null}
    </pre>
  );
}

function isJson(headers: HttpResponse["headers"]): boolean {
  return headers.some(([name, value]) => name === "content-type" && /\bjson\b/i.test(value));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
