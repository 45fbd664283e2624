import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useHost } from "../../connection/use-host.ts";
import { IconButton } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { copiedTarget } from "../copy-button.tsx";
import { type CopiedHttpRequest, httpCode } from "../copy-code.ts";
import { AddButton, CodeInput } from "../fields/controls.tsx";
import { Callers } from "../request-pane.tsx";
import { RequestHead } from "../request-head.tsx";
import type { WireMethod } from "../wire-table.ts";
import { HttpAnswer } from "./http-answer.tsx";
import { HttpCall } from "./http-call.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/** The user's input. */
interface HttpDraft extends Pick<CopiedHttpRequest, "method" | "url" | "redirect"> {
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly body: string;
  readonly timeout: string;
}

const EMPTY_REQUEST: HttpDraft = {
  method: "GET",
  url: "",
  headers: [],
  body: "",
  redirect: "follow",
  timeout: "",
};

/** Kept for as long as the page is open. */
const httpDraft = signal(EMPTY_REQUEST);
const httpCall = new HttpCall();

export interface HttpPaneProps {
  readonly method: WireMethod;
  readonly children: ComponentChildren;
}

/** An HTTP request from the server's machine. */
export function HttpPane({ method, children }: HttpPaneProps) {
  const host = useHost();
  const isTried = useSignal(false);
  const draft = httpDraft.value;
  const change = (part: Partial<HttpDraft>): void => {
    httpDraft.value = { ...httpDraft.value, ...part };
  };
  const problem = urlProblem(draft.url);
  const send = (): void => {
    isTried.value = true;
    if (problem === undefined) void httpCall.send(host, requestOf(draft));
  };
  const hasBody = draft.method !== "GET" && draft.method !== "HEAD";
  return (
    <section class="insp-request" aria-label={method.name}>
      <RequestHead
        name={method.name}
        isRunning={httpCall.state.value.kind === "running"}
        canSend
        copies={[
          {
            id: "insp-copy-code",
            title: "Copy as TypeScript",
            what: "The code",
            text: () => httpCode(requestOf(httpDraft.value), copiedTarget()),
          },
        ]}
        onSend={send}
        onStop={() => httpCall.stop()}
        onReset={() => change(EMPTY_REQUEST)}
      >
        {children}
      </RequestHead>
      <div class="insp-form" tabIndex={0} role="region" aria-label="Form">
        <p class="insp-doc">
          The server's machine makes the request, so it reaches whatever that machine can reach. Every status
          is an answer.
        </p>
        <Callers method={method} />
        <div class="insp-http">
          <div class="insp-http-line">
            <Field label="Method">
              {(ids) => (
                <select
                  {...ids}
                  value={draft.method}
                  onChange={(event) => change({ method: event.currentTarget.value })}
                >
                  {METHODS.map((each) => (
                    <option key={each}>{each}</option>
                  ))}
                </select>
              )}
            </Field>
            <Field label="URL" error={isTried.value || draft.url !== "" ? problem : undefined}>
              {(ids) => (
                <CodeInput
                  {...ids}
                  type="url"
                  placeholder="http://127.0.0.1:8080/"
                  value={draft.url}
                  onText={(url) => change({ url })}
                />
              )}
            </Field>
          </div>
          <Headers draft={draft} change={change} />
          {hasBody ? (
            <Field label="Body">
              {(ids) => (
                <textarea
                  {...ids}
                  class="insp-text code"
                  rows={3}
                  spellcheck={false}
                  value={draft.body}
                  onInput={(event) => change({ body: event.currentTarget.value })}
                />
              )}
            </Field>
          ) : null}
          <div class="insp-http-line options">
            <Field label="Redirects">
              {(ids) => (
                <select
                  {...ids}
                  value={draft.redirect}
                  onChange={(event) =>
                    change({ redirect: event.currentTarget.value === "manual" ? "manual" : "follow" })
                  }
                >
                  <option value="follow">follow</option>
                  <option value="manual">show them</option>
                </select>
              )}
            </Field>
            <Field
              label="Time limit in milliseconds"
              error={/^\d*$/.test(draft.timeout) ? undefined : "Must be a whole number, or empty."}
            >
              {(ids) => (
                <CodeInput
                  {...ids}
                  inputMode="numeric"
                  placeholder="none"
                  value={draft.timeout}
                  onText={(text) => change({ timeout: text.trim() })}
                />
              )}
            </Field>
          </div>
        </div>
      </div>
      <HttpAnswer call={httpCall} />
    </section>
  );
}

interface HeadersProps {
  readonly draft: HttpDraft;
  readonly change: (part: Partial<HttpDraft>) => void;
}

function Headers({ draft: { headers }, change }: HeadersProps) {
  const set = (index: number, part: Partial<HttpDraft["headers"][number]>): void =>
    change({ headers: headers.map((each, at) => (at === index ? { ...each, ...part } : each)) });
  return (
    <div class="insp-http-headers" role="group" aria-label="Headers">
      {headers.map(({ name, value }, index) => (
        <div key={index} class="insp-http-header">
          <CodeInput
            aria-label="Name of a header"
            placeholder="name"
            value={name}
            onText={(text) => set(index, { name: text })}
          />
          <CodeInput
            aria-label="Value of a header"
            placeholder="value"
            value={value}
            onText={(text) => set(index, { value: text })}
          />
          <IconButton
            icon="close"
            label="Remove the header"
            onClick={() => change({ headers: headers.filter((_each, at) => at !== index) })}
          />
        </div>
      ))}
      <AddButton onClick={() => change({ headers: [...headers, { name: "", value: "" }] })}>
        Add a header
      </AddButton>
    </div>
  );
}

function requestOf({ method, url, headers, body, redirect, timeout }: HttpDraft): CopiedHttpRequest {
  const hasBody = method !== "GET" && method !== "HEAD" && body !== "";
  return {
    method,
    url,
    headers: headers.filter(({ name }) => name !== "").map(({ name, value }) => [name, value]),
    body: hasBody ? body : undefined,
    redirect,
    timeoutMs: /^\d+$/.test(timeout) ? Number(timeout) : undefined,
  };
}

function urlProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return "Enter a full URL, such as http://127.0.0.1:8080/.";
  return /^https?:$/.test(new URL(url).protocol) ? undefined : "Only http and https URLs work.";
}
