import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useHost } from "../../connection/use-host.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { copiedTarget } from "../copy-button.tsx";
import { httpCode } from "../copy-code.ts";
import { Callers } from "../request-pane.tsx";
import { RequestHead } from "../request-head.tsx";
import type { WireMethod } from "../wire-table.ts";
import { HttpAnswer } from "./http-answer.tsx";
import { EMPTY_REQUEST, type HttpDraft, httpCall, httpDraft, requestOf, urlProblem } from "./http-draft.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

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
          The request leaves from the server's machine, so it reaches what that machine can reach. Every
          status is an answer.
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
                <input
                  {...ids}
                  class="code"
                  type="url"
                  placeholder="http://127.0.0.1:8080/"
                  spellcheck={false}
                  autocomplete="off"
                  value={draft.url}
                  onInput={(event) => change({ url: event.currentTarget.value })}
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
                <input
                  {...ids}
                  class="code"
                  inputMode="numeric"
                  placeholder="none"
                  autocomplete="off"
                  value={draft.timeout}
                  onInput={(event) => change({ timeout: event.currentTarget.value.trim() })}
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
          <input
            class="code"
            aria-label="Name of a header"
            placeholder="name"
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={(event) => set(index, { name: event.currentTarget.value })}
          />
          <input
            class="code"
            aria-label="Value of a header"
            placeholder="value"
            spellcheck={false}
            autocomplete="off"
            value={value}
            onInput={(event) => set(index, { value: event.currentTarget.value })}
          />
          <IconButton
            icon="close"
            label="Remove the header"
            onClick={() => change({ headers: headers.filter((_each, at) => at !== index) })}
          />
        </div>
      ))}
      <div class="insp-add">
        <Button
          kind="quiet"
          icon="plus"
          onClick={() => change({ headers: [...headers, { name: "", value: "" }] })}
        >
          Add a header
        </Button>
      </div>
    </div>
  );
}
