import { describeError } from "../../connection/describe-error.ts";
import { Badge } from "../../ui/badge.tsx";
import { IconButton } from "../../ui/button.tsx";
import { downloadBlob } from "../../ui/download-blob.ts";
import { ErrorBox } from "../../ui/error-box.tsx";
import { formatSize } from "../../../base/amounts.ts";
import { formatMs } from "../../ui/format.ts";
import { visibleText } from "../../../base/visible-text.ts";
import { AnswerFrame } from "../answer-frame.tsx";
import { parseJson } from "../json-path.ts";
import { previewJson } from "../json-preview.ts";
import { JsonView } from "../json-view.tsx";
import type { HttpCall, HttpResponse } from "./http-call.ts";

/** The response, while its body streams and afterwards. */
export function HttpAnswer({ call }: { readonly call: HttpCall }) {
  const state = call.state.value;
  const { kind, answer: response, error } = state;
  return (
    <AnswerFrame
      state={state}
      idleText="The response appears here."
      badge={
        response !== undefined ? (
          <StatusBadge status={response.status} />
        ) : kind === "failed" ? (
          <Badge kind="bad">failed</Badge>
        ) : null
      }
      head={
        response === undefined ? null : (
          <>
            <span class="number hint">
              {formatSize(response.bytes)}, head after {formatMs(response.headMs)}
            </span>
            <span class="insp-answer-actions">
              <IconButton
                icon="download"
                label="Download the body"
                onClick={() => downloadBlob(call.body, "body")}
              />
            </span>
          </>
        )
      }
    >
      {kind === "failed" ? (
        <div class="insp-error">
          <ErrorBox
            text={describeError(error).text}
            remedy="Check the URL, and that the server's machine can reach it."
          />
        </div>
      ) : null}
      {response === undefined ? null : <Response response={response} isWhole={kind === "answered"} />}
    </AnswerFrame>
  );
}

function StatusBadge({ status }: { readonly status: number }) {
  return <Badge kind={status < 300 ? "good" : status < 400 ? "accent" : "bad"}>{status}</Badge>;
}

interface ResponseProps {
  readonly response: HttpResponse;
  readonly isWhole: boolean;
}

function Response({ response, isWhole }: ResponseProps) {
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

function Body({ response: { text, bytes, headers }, isWhole }: ResponseProps) {
  if (bytes === 0) return <p class="insp-nothing">{isWhole ? "It has no body." : ""}</p>;
  if (text === undefined)
    return <p class="insp-nothing">{formatSize(bytes)} that are not text. Download them.</p>;
  const json = isWhole && isJson(headers) ? parseJson(text) : undefined;
  if (json !== undefined) return <JsonView preview={previewJson(json)} label="Body" />;
  return (
    <pre class="insp-body">
      {text.split("\n").map((line, index) => (
        <div key={index}>{visibleText(line)}&nbsp;</div>
      ))}
      {text.length < bytes && isWhole ? <div class="hint">The download has the rest.</div> : null}
    </pre>
  );
}

function isJson(headers: HttpResponse["headers"]): boolean {
  return headers.some(([name, value]) => name === "content-type" && /\bjson\b/i.test(value));
}
