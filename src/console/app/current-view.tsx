import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { serverLink } from "../connection/server-link.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { holdKeys, releaseKeys } from "../frame/commands.ts";
import { titleOf } from "../frame/page-title.ts";
import { path } from "../frame/router.ts";
import type { View, ViewProps } from "../frame/view.ts";
import { viewAt } from "./views.ts";

/** What the address names. */
export function CurrentView() {
  const view = viewAt(path.value);
  useEffect(() => {
    document.title = titleOf(path.value, view);
  }, [view, path.value]);
  if (view === undefined)
    return (
      <EmptyState icon="search" title="There is nothing here" text="The address names no part of this page.">
        <a class="button plain" href="/">
          Go to the start
        </a>
      </EmptyState>
    );
  // Another session is another world: nothing of the old one may stay.
  return <LoadedView key={`${view.id} ${serverLink.sessions.value}`} view={view} />;
}

function LoadedView({ view }: { readonly view: View }) {
  const component = useSignal<FunctionComponent<ViewProps> | undefined>(loaded.get(view));
  const failure = useSignal<unknown>(undefined);
  const [fault, reset] = useErrorBoundary();
  const load = (): void => {
    failure.value = undefined;
    view.load().then(
      (part) => {
        loaded.set(view, part.default);
        component.value = part.default;
      },
      (error: unknown) => {
        failure.value = error;
      },
    );
  };
  useEffect(() => {
    if (component.value === undefined) load();
  }, [view]);
  const isLoading = component.value === undefined && failure.value === undefined;
  // Before the next key, and after the effects of the view itself, which has added its commands by then.
  useLayoutEffect(() => {
    if (isLoading) holdKeys();
    else releaseKeys();
  }, [isLoading]);
  if (fault !== undefined)
    return <Failed text={`This view has a fault: ${describeError(fault).text}`} again={reset} />;
  if (failure.value !== undefined) return <Failed text="This view could not be loaded." again={load} />;
  const Component = component.value;
  return Component === undefined ? null : <Component path={path.value} />;
}

const loaded = new Map<View, FunctionComponent<ViewProps>>();

function Failed({ text, again }: { readonly text: string; readonly again: () => void }) {
  return (
    <div class="view-failed">
      <ErrorBox
        text={text}
        remedy="Try it again. If that does not help, load the page again; processes go on."
      >
        <Button onClick={again}>Try again</Button>
      </ErrorBox>
    </div>
  );
}
