import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { useCommands } from "../frame/commands.ts";
import { below, navigate, pathTo } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import { ViewFrame } from "../frame/view-frame.tsx";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import styles from "./inspector.css";
import { lastMethod } from "./forms.ts";
import { HttpPane } from "./http/http-pane.tsx";
import { MethodList } from "./method-list.tsx";
import { messageLog } from "./messages/message-log.ts";
import { MessagesPane } from "./messages/messages-pane.tsx";
import { RequestPane } from "./request-pane.tsx";
import { loadWireTable, type WireMethod } from "./wire-table.ts";

document.adoptedStyleSheets.push(styles);

const MESSAGES = "/i/messages";
let isWatched = false;

/** Calls any method of the protocol, and shows the messages as they pass. */
export default function InspectorView({ path }: ViewProps) {
  const methods = useSignal<readonly WireMethod[] | undefined>(undefined);
  const failure = useSignal<unknown>(undefined);
  // Starts with the first visit, so that messages of other views are recorded, too. Before painting, because the user
  // may leave for another view before that.
  useLayoutEffect(() => {
    if (!isWatched) messageLog.start();
    isWatched = true;
  }, []);
  useEffect(() => {
    loadWireTable().then(
      (table) => {
        methods.value = table;
      },
      (error: unknown) => {
        failure.value = error;
      },
    );
  }, []);
  const isMessages = path === MESSAGES;
  return (
    <ViewFrame title="Inspector" actions={<Parts isMessages={isMessages} />}>
      {failure.value === undefined ? null : (
        <div class="view-failed">
          <ErrorBox {...describeError(failure.value)} remedy="Reload the page." />
        </div>
      )}
      {methods.value === undefined ? null : isMessages ? (
        <MessagesPane methods={methods.value} />
      ) : (
        <Caller methods={methods.value} path={path} />
      )}
    </ViewFrame>
  );
}

function Parts({ isMessages }: { readonly isMessages: boolean }) {
  const call = lastMethod.value === undefined ? "/i" : pathTo("/i", lastMethod.value);
  const title = isMessages ? "Show the form" : "Show the messages";
  const show = (): void => navigate(isMessages ? call : MESSAGES);
  useCommands(() => [{ id: "insp-messages", title, group: "Inspector", keys: "m", run: show }], [isMessages]);
  return (
    <nav class="view-parts" aria-label="Parts of the inspector">
      <a href={call} aria-current={isMessages ? undefined : "page"}>
        Call
      </a>
      <a href={MESSAGES} aria-current={isMessages ? "page" : undefined}>
        Messages
      </a>
    </nav>
  );
}

/** HTTP requests have a special form besides the one that every method has. */
function MethodPane({ method }: { readonly method: WireMethod }) {
  if (method.name !== "http/request") return <RequestPane method={method} />;
  const choice = (
    <Button
      kind="quiet"
      onClick={() => {
        hasAllFields.value = !hasAllFields.value;
      }}
    >
      {hasAllFields.value ? "Simple form" : "All fields"}
    </Button>
  );
  return hasAllFields.value ? (
    <RequestPane method={method}>{choice}</RequestPane>
  ) : (
    <HttpPane method={method}>{choice}</HttpPane>
  );
}

const hasAllFields = signal(false);

function Caller({ methods, path }: { readonly methods: readonly WireMethod[]; readonly path: string }) {
  const query = useSignal("");
  const field = useRef<HTMLInputElement>(null);
  const name = below("/i", path) ?? "";
  const method = methods.find((each) => each.name === name);
  useEffect(() => {
    if (method !== undefined) lastMethod.value = method.name;
  }, [method]);
  useCommands(() => [
    {
      id: "insp-find",
      title: "Find a method",
      group: "Inspector",
      keys: "/",
      run: () => {
        // Immediately, so that it gets the next keys. On a phone the list is shown first.
        if (field.current?.checkVisibility() !== false) field.current?.focus();
        else {
          navigate("/i");
          setTimeout(() => field.current?.focus());
        }
      },
    },
    ...methods.map((each) => ({
      id: `insp-open-${each.name}`,
      title: `Call ${each.name}`,
      group: "Inspector",
      run: () => navigate(pathTo("/i", each.name)),
    })),
  ]);
  return (
    <div class={`insp${name === "" ? " choosing" : ""}`}>
      <MethodList methods={methods} current={method?.name} query={query} field={field} />
      {method !== undefined ? (
        <MethodPane key={method.name} method={method} />
      ) : name === "" ? (
        <EmptyState
          icon="inspector"
          title="Call any method of the protocol"
          text="Choose one on the left, fill in its form, and see what the server answers."
        />
      ) : (
        <EmptyState icon="search" title="Unknown method" text="The protocol has no method of this name.">
          <a class="button plain" href="/i">
            All methods
          </a>
        </EmptyState>
      )}
    </div>
  );
}
