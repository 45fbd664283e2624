import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { serverLink } from "../connection/server-link.ts";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/empty-state.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { ask } from "./fleet-link.ts";
import { linkTo, type MachineAddress } from "./machine-address.ts";

/** Redirects to a machine's page, which has its own origin. */
export function Opening({ id, view }: MachineAddress) {
  const failure = useSignal<string | undefined>(undefined);
  const isConnected = serverLink.state.value === "connected";
  const open = (): void => {
    failure.value = undefined;
    ask("open", id).then(
      // Without a history entry that would lead back here.
      (link) => link !== undefined && location.replace(linkTo(link, view)),
      (error: unknown) => {
        failure.value = error instanceof Error ? error.message : String(error);
      },
    );
  };
  useEffect(() => {
    document.title = `${visibleText(id)} · exec-server`;
    if (isConnected) open();
  }, [isConnected]);
  return (
    <main class="entrance fleet-opening">
      {failure.value === undefined ? (
        <p role="status">Opening {visibleText(id)}…</p>
      ) : (
        <div role="alert">
          <EmptyState
            icon="machines"
            title={`${visibleText(id)} cannot be opened`}
            text={visibleText(failure.value)}
          >
            <Button kind="primary" onClick={open}>
              Try again
            </Button>
            <a class="button plain" href="/" target="_self">
              Show the fleet
            </a>
          </EmptyState>
        </div>
      )}
    </main>
  );
}
