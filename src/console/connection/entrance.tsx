import { useSignal } from "@preact/signals";
import { Button } from "../ui/button.tsx";
import { ErrorBox } from "../ui/error-box.tsx";
import { Field } from "../ui/field.tsx";
import { tokenIn } from "./access.ts";
import { enterByToken, serverLink } from "./server-link.ts";

/** Asks for a link or a token. */
export function Entrance() {
  const text = useSignal("");
  const { server, refusal } = serverLink;
  const byToken = server.value?.authentication === "token";
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = text.value.trim();
    if (given === "") return;
    void enterByToken(tokenIn(given));
  };
  return (
    <main class="entrance">
      <form class="entrance-card" onSubmit={submit}>
        <Brand />
        <h1>{byToken ? "Enter a token" : "Open a link"}</h1>
        {byToken ? (
          <p>
            This server asks for one of its tokens. A link of <code>exec-server open --print</code> works as
            well.
          </p>
        ) : (
          <p>
            The server printed one when it started. For a new one, run <code>exec-server open --print</code>{" "}
            on its machine, and paste it here. Each link works once.
          </p>
        )}
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
              onInput={(event) => {
                text.value = event.currentTarget.value;
              }}
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
