import type { Refusal } from "./gatekeeper.ts";

/** Answer to a blocked HTTP request. Programs and people see it, so it states who blocked what, and why. */
export interface BlockedAnswer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

const BY_REASON: Readonly<Record<string, { readonly label: string; readonly message: string }>> = {
  denied: { label: "blocked-by-denylist", message: "Domain denied by the sandbox policy." },
  not_allowed: { label: "blocked-by-allowlist", message: "Domain not in allowlist." },
  not_allowed_local: {
    label: "blocked-by-allowlist",
    message: "Sandbox policy blocks local/private network addresses.",
  },
  method_not_allowed: {
    label: "blocked-by-method-policy",
    message: "Method not allowed in limited mode.",
  },
  stand_in_misdirected: {
    label: "blocked-by-secret-policy",
    message:
      "The request has a stand-in for a secret of another host; send it only where the secret belongs.",
  },
  mitm_required: { label: "blocked-by-mitm-required", message: "MITM required for limited HTTPS." },
};

const OTHER = { label: "blocked-by-policy", message: "Request blocked by network policy." };

/** `text` is for CONNECT, whose answers hardly any program shows. */
export function blockedAnswer(refusal: Refusal, form: "json" | "text"): BlockedAnswer {
  const { attempt, reason, decision, source } = refusal;
  const { label, message } = (Object.hasOwn(BY_REASON, reason) ? BY_REASON[reason] : undefined) ?? OTHER;
  const { host, port, protocol } = attempt;
  return {
    status: 403,
    headers: ["content-type", form === "json" ? "application/json" : "text/plain", "x-proxy-error", label],
    body:
      form === "json"
        ? JSON.stringify({ status: "blocked", host, reason, decision, source, protocol, port, message })
        : message,
  };
}

export function plainAnswer(status: number, body: string): BlockedAnswer {
  return { status, headers: ["content-type", "text/plain"], body };
}

/** A stand-in must not go out in the place of its secret: the answer would blame the process. */
export const NO_SECRET = plainAnswer(
  502,
  "the secret of this request is not available: the server cannot read it",
);
