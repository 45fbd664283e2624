import { useSignal } from "@preact/signals";
import { Button } from "../ui/button.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { Field, writeTo } from "../ui/field.tsx";
import { visibleText } from "../../base/visible-text.ts";
import { linkElsewhere, tokenIn } from "./access.ts";
import { enterByToken, serverLink } from "./server-link.ts";

/** Asks for a link or a token. `fleet` is the name of the fleet behind it. */
export function Entrance({ fleet }: { fleet?: string }) {
  const text = useSignal("");
  const { server, refusal } = serverLink;
  const byToken = server.value?.authentication === "token";
  const submit = (event: Event): void => {
    event.preventDefault();
    const linkOrToken = text.value.trim();
    if (linkOrToken === "") return;
    const elsewhere = linkElsewhere(linkOrToken);
    // A command that is run again serves another page. This one knows nothing of its links.
    if (server.value?.command !== undefined && elsewhere !== undefined) location.assign(elsewhere);
    else void enterByToken(tokenIn(linkOrToken));
  };
  return (
    <main class="entrance">
      <form class="entrance-card" onSubmit={submit}>
        <Brand />
        <h1>
          {byToken ? "Enter a token" : fleet === undefined ? "Open a link" : `Open the fleet ${fleet}`.trim()}
        </h1>
        <Advice of={fleet === undefined ? "this page" : "this view of your machines"} />
        {refusal.value === undefined ? null : <ErrorBox text={refusal.value} />}
        <Field label={byToken ? "Token" : "Link"}>
          {(ids) => (
            <input
              {...ids}
              {...(byToken ? { type: "password" } : { type: "text" })}
              autocomplete="off"
              spellcheck={false}
              autofocus
              value={text.value}
              onInput={writeTo(text)}
            />
          )}
        </Field>
        <Button kind="primary" type="submit" disabled={text.value.trim() === ""}>
          Connect
        </Button>
      </form>
    </main>
  );
}

/** How to get a link or a token. `of` names what the link opens. */
function Advice({ of }: { of: string }) {
  const { authentication, command } = serverLink.server.value ?? {};
  if (command !== undefined)
    return (
      <p>
        A command serves {of}, with a link that works once. For another link, run{" "}
        <code>{visibleText(command)}</code>. If that opens no browser, paste its link here.
      </p>
    );
  // Without the URL, it would print a link of somebody's own server.
  const print = `exec-server open --print --url ${location.origin.replace(/^http/, "ws")}`;
  return authentication === "token" ? (
    <p>
      This server asks for one of its tokens. A link from <code>{print} --token-file FILE</code> works, too.
    </p>
  ) : (
    <p>
      The server printed one when it started. For a new one, run <code>{print}</code> on its machine, and
      paste it here. Each link works once.
    </p>
  );
}

/** While nothing can be shown yet. Short waits show nothing. */
export function Entering() {
  return (
    <main class="entrance">
      <p class="entrance-wait" role="status">
        Connecting…
      </p>
    </main>
  );
}

export function Brand() {
  return (
    <span class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="7" />
        <path d="M8 11l6 5-6 5M16 22h8" />
      </svg>
      exec-server
    </span>
  );
}
