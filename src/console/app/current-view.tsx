import { useSignal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect } from "preact/hooks";
import { describeError } from "../connection/describe-error.ts";
import { serverLink } from "../connection/server-link.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { holdKeys } from "../frame/commands.ts";
import { titleOf } from "../frame/page-title.ts";
import { path } from "../frame/router.ts";
import type { View, ViewProps } from "../frame/view.ts";
import { viewAt } from "./views.ts";

/** The view that the address names. */
export function CurrentView() {
  const view = viewAt(path.value);
  useEffect(() => {
    document.title = titleOf(path.value, view);
  }, [view, path.value]);
  if (view === undefined)
    return (
      <EmptyState
        icon="search"
        title="Page not found"
        text="This address does not belong to any part of the console."
      >
        <a class="button plain" href="/">
          Go to the start page
        </a>
      </EmptyState>
    );
  // Another session is another world: nothing of the old one may stay.
  return <LoadedView key={`${view.path} ${serverLink.sessions.value}`} view={view} />;
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
  // Before the next key, and after the view's own effects, which have added its commands by then.
  useLayoutEffect(() => {
    holdKeys("view", isLoading);
  }, [isLoading]);
  if (fault !== undefined)
    return <Failed text={`This view failed: ${describeError(fault).text}`} again={reset} />;
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
        remedy="Try again. If that does not help, reload the page; processes keep running."
      >
        <Button onClick={again}>Try again</Button>
      </ErrorBox>
    </div>
  );
}
