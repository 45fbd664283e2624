import { batch, computed, signal } from "@preact/signals";
import { type ClientRights, connect, type Host, type Result } from "../../client/browser.ts";
import {
  AccessRefused,
  forgetSecret,
  type ServerState,
  serverState,
  storedSecret,
  storeSecret,
  takeLinkToken,
  trade,
} from "./access.ts";
import { passMessage } from "./message-tap.ts";
import { answerOtherTabs, askOtherTabs } from "./other-tabs.ts";

/**
 * - `entering`: the page asks the server who may get in;
 * - `asking`: a person must give a link or a token;
 * - `connecting`: for the first time;
 * - `connected`;
 * - `recovering`: the connection was lost, nothing else yet;
 * - `lost`: the session is gone, as after a restart of the server; a new one is being opened.
 */
export type LinkState = "entering" | "asking" | "connecting" | "connected" | "recovering" | "lost";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 4000;
/** Secrets last a week. */
const RENEWAL_MS = 24 * 60 * 60 * 1000;

const state = signal<LinkState>("entering");
const host = signal<Host | undefined>(undefined);
const rights = signal<ClientRights | undefined>(undefined);
const program = signal<readonly string[] | undefined>(undefined);
const server = signal<ServerState | undefined>(undefined);
const refusal = signal<string | undefined>(undefined);
/** When the next attempt to connect begins, while it is awaited. */
const nextAttemptMs = signal<number | undefined>(undefined);
/** Number of sessions opened. If there are several: the earlier ones are gone, with what ran in them. */
const sessions = signal(0);
let hurry: (() => void) | undefined;
let isAskingForEnd = false;

/** Resources that the page keeps open. */
export interface Connection {
  readonly closed: Promise<unknown>;
  close(): unknown;
}

/** Opens the next one. The page of a fleet has another way. */
let open: (secret: string) => Promise<Connection> = openSession;
let current: Connection | undefined;

/** The page's only connection. */
export const serverLink = {
  state,
  /** The latest session, also while it recovers. Undefined before the first. */
  host,
  /** The user's rights; undefined if the server does not report them. */
  rights,
  /** Command line of exec-server on the server's machine, if the server reports it. */
  program,
  server,
  /** Why the user is asked, if something was refused. */
  refusal,
  nextAttemptMs,
  sessions,
  isConnected: computed(() => state.value === "connected"),
};

/** Whether the user has a right, as far as the server reports it. */
export function isAllowed(right: string): boolean {
  return rights.value?.allowed.includes(right) ?? true;
}

/** Gets in by the link in the address or what this tab has kept, and stays connected. */
export async function enter(opener: (secret: string) => Promise<Connection> = openSession): Promise<void> {
  open = opener;
  const token = takeLinkToken();
  answerOtherTabs();
  setInterval(() => void keepRenewed(), RENEWAL_MS);
  // A page that is left does not come back to its session. If the browser keeps the page, it opens another one.
  addEventListener("pagehide", () => current?.close());
  addEventListener("pageshow", connectNow);
  if (token !== undefined) return enterByToken(token);
  const secret = storedSecret() ?? (await askOtherTabs(enterLate));
  return secret === undefined ? ask(undefined) : enterBySecret(secret);
}

async function enterBySecret(secret: string): Promise<void> {
  storeSecret(secret);
  void keepRenewed();
  return stayConnected();
}

/** With the secret of a slow tab, unless the user was faster. */
function enterLate(secret: string): void {
  if (state.value === "asking" && storedSecret() === undefined) void enterBySecret(secret);
}

/** Gets in by the token of a link, or one of the server's. */
export async function enterByToken(token: string): Promise<void> {
  state.value = "entering";
  try {
    storeSecret(await trade({ token }));
  } catch (error) {
    // A page that was loaded again with an old link in its address has its secret still.
    if (error instanceof AccessRefused && storedSecret() !== undefined) return stayConnected();
    return ask(error instanceof Error ? error.message : String(error));
  }
  return stayConnected();
}

/** Forgets the secret and closes the connection. */
export async function leave(): Promise<void> {
  forgetSecret();
  const left = current;
  current = undefined;
  host.value = undefined;
  await ask(undefined);
  left?.close();
}

/** Connects now instead of after the pause. */
export function connectNow(): void {
  hurry?.();
}

async function ask(why: string | undefined): Promise<void> {
  refusal.value = why;
  try {
    server.value = await serverState();
  } catch {
    server.value ??= { authentication: "link" };
  }
  state.value = "asking";
}

/** Opens one session after another, each when the previous one is gone. Ends when the user must be asked. */
async function stayConnected(): Promise<void> {
  refusal.value = undefined;
  state.value = "connecting";
  for (let failures = 0; ; ) {
    const secret = storedSecret();
    if (secret === undefined) return;
    try {
      const opened = await open(secret);
      failures = 0;
      current = opened;
      await opened.closed;
      if (current !== opened) return;
      state.value = "lost";
    } catch {
      failures++;
      if (await isOver(secret)) {
        forgetSecret();
        return ask(
          server.value?.command === undefined
            ? "Your access has ended: it expired or was withdrawn, or a different server answers here now."
            : "Your access has ended: it expired, or another command uses this address now.",
        );
      }
    }
    await pause(failures);
  }
}

/** WebSocket URL of the page's server. */
export function webSocketUrl(): string {
  return `${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/`;
}

async function openSession(secret: string): Promise<Host> {
  const opened = await connect(webSocketUrl(), {
    token: secret,
    clientName: "exec-server console",
    onMessage: passMessage,
  });
  opened.onStateChange((changed) => {
    if (host.value !== opened) return;
    if (changed === "connected") state.value = "connected";
    if (changed !== "recovering") return;
    state.value = "recovering";
    void endIfOver(opened, secret);
  });
  const status = await statusOf(opened);
  batch(() => {
    rights.value = status?.rights;
    program.value = status?.program;
    host.value = opened;
    sessions.value++;
    state.value = "connected";
  });
  // Only signed-in users learn its name.
  void isOver(secret);
  return opened;
}

/** Includes the user's rights. A server that does not report them refuses what they do not allow. */
async function statusOf(opened: Host): Promise<Result<"server/status"> | undefined> {
  if (!opened.supports("server/status")) return undefined;
  return await opened.request("server/status", null);
}

/** Whether the server responds, but no longer accepts the secret. */
async function isOver(secret: string): Promise<boolean> {
  try {
    server.value = await serverState(secret);
    return server.value.session === "over";
  } catch {
    return false;
  }
}

/**
 * Ends a session whose access is gone. Browsers do not say why a WebSocket was refused, so the session would try to
 * recover until its time runs out.
 */
async function endIfOver(session: Host, secret: string): Promise<void> {
  if (isAskingForEnd) return;
  isAskingForEnd = true;
  for (let asked = 0; session.state === "recovering"; asked++) {
    if (await isOver(secret)) await session.close();
    else await delay(pauseAfter(asked));
  }
  isAskingForEnd = false;
}

/** A secret that cannot be renewed now stays as it is. */
async function keepRenewed(): Promise<void> {
  const secret = storedSecret();
  if (secret === undefined) return;
  const renewed = await trade({ secret }).catch(() => secret);
  if (storedSecret() === secret) storeSecret(renewed);
}

function pauseAfter(failures: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function pause(failures: number): Promise<void> {
  const ms = pauseAfter(failures);
  nextAttemptMs.value = Date.now() + ms;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    hurry = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  hurry = undefined;
  nextAttemptMs.value = undefined;
}
