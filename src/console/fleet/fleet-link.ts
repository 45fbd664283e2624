import { batch, signal } from "@preact/signals";
import { tokenSubprotocols } from "../../base/subprotocol-token.ts";
import { type Connection, serverLink, webSocketUrl } from "../connection/server-link.ts";
import { visibleText } from "../../base/visible-text.ts";
import type { FleetAnswer, FleetMessage, FleetRequest, Machine, NatsState } from "./fleet-messages.ts";

/** Number of loads in a chart: a minute, because machines report every two seconds. */
export const HISTORY = 30;

/** A machine of the list. */
export interface MachineRow {
  readonly machine: Machine;
  /** The latest at the end. */
  readonly loads: readonly number[];
}

const name = signal("");
const servers = signal("");
const nats = signal<NatsState>("connected");
const rows = signal<readonly MachineRow[] | undefined>(undefined);
const news = signal("");

/** The page's data about the fleet. */
export const fleet = {
  name,
  /** Addresses of NATS, as `serve --fleet` takes them. */
  servers,
  nats,
  /** Undefined until all are known. */
  rows,
  /** The latest arrival or departure, for screen readers. */
  news,
};

interface Waiting {
  readonly resolve: (link: string | undefined) => void;
  readonly reject: (error: Error) => void;
}

const waiting = new Map<number, Waiting>();
let lastRequest = 0;
let socket: WebSocket | undefined;
let known = new Map<string, MachineRow>();
/** The machines known before the connection was lost. */
let last: ReadonlyMap<string, MachineRow> = new Map();

/** Connects to the program that serves this page. */
export async function openFleetLink(secret: string): Promise<Connection> {
  const opening = new WebSocket(webSocketUrl(), tokenSubprotocols(secret));
  opening.addEventListener("message", ({ data }) => take(JSON.parse(String(data)) as FleetMessage));
  const closed = new Promise<void>((resolve) => opening.addEventListener("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    opening.addEventListener("open", () => resolve());
    void closed.then(() => reject(new Error("the connection was refused")));
  });
  socket = opening;
  serverLink.state.value = "connected";
  void closed.then(() => {
    for (const { reject } of waiting.values())
      reject(new Error("The connection was lost before the answer."));
    waiting.clear();
  });
  return { closed, close: () => opening.close() };
}

/** Carries out an action on a machine. Resolves with a link to its page, if that was requested. */
export function ask(what: FleetRequest["do"], machine: string): Promise<string | undefined> {
  const request: FleetRequest = { request: ++lastRequest, do: what, machine };
  return new Promise((resolve, reject) => {
    if (socket?.readyState !== WebSocket.OPEN) {
      reject(new Error("Not connected. The page reconnects by itself."));
      return;
    }
    waiting.set(request.request, { resolve, reject });
    socket.send(JSON.stringify(request));
  });
}

function take(message: FleetMessage): void {
  switch (message.kind) {
    case "fleet":
      batch(() => {
        name.value = message.name;
        servers.value = message.servers;
        nats.value = message.state;
      });
      // Shown when it is complete. Machines that are still there keep their charts.
      last = known;
      known = new Map();
      return;
    case "state":
      nats.value = message.state;
      return;
    case "machines":
      return takeMachines(message);
    case "answer":
      return takeAnswer(message);
  }
}

function takeMachines({ machines, left, isComplete }: Extract<FleetMessage, { kind: "machines" }>): void {
  for (const machine of machines) {
    const before = known.get(machine.id) ?? last.get(machine.id);
    const loads = [...(before?.loads ?? []), machine.load].slice(-HISTORY);
    known.set(machine.id, { machine, loads });
  }
  for (const id of left) known.delete(id);
  if (!isComplete) return;
  last = new Map();
  const shown = rows.peek();
  batch(() => {
    rows.value = [...known.values()];
    if (shown !== undefined) announceNews(new Set(shown.map(({ machine }) => machine.id)));
  });
}

function announceNews(shown: ReadonlySet<string>): void {
  const joined = [...known.keys()].filter((id) => !shown.has(id));
  const left = [...shown].filter((id) => !known.has(id));
  if (joined.length + left.length > 0)
    news.value = [describeIds(joined, "joined"), describeIds(left, "left")].filter(Boolean).join("; ");
}

function describeIds([first, ...others]: readonly string[], what: string): string {
  if (first === undefined) return "";
  return others.length === 0 ? `${visibleText(first)} ${what}` : `${others.length + 1} machines ${what}`;
}

function takeAnswer({ request, link, error }: FleetAnswer): void {
  const asked = waiting.get(request);
  waiting.delete(request);
  if (error === undefined) asked?.resolve(link);
  else asked?.reject(new Error(error));
}
