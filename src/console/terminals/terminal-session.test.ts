import headless from "@xterm/headless";
import { expect, it, vi } from "vitest";
import { createDeferred } from "../../base/deferred.ts";
import type { Host, ProcessEvent, Snapshot } from "../../client/browser.ts";
import { type GridSize, TerminalSession, type TerminalState } from "./terminal-session.ts";

const ROOM = { cols: 20, rows: 4 };
const WAIT = { timeout: 20_000 };

/** A server with one terminal, whose answers and events come when the test says so. */
function fakeServer() {
  const snapshots: { answer: (paint: string, nextSeq: number, size?: GridSize) => void }[] = [];
  const sizes: GridSize[] = [];
  const events: ProcessEvent[] = [];
  let arrived = createDeferred<void>();
  const remote = {
    tty: true,
    isClosed: false,
    resize: async (size: GridSize) => void sizes.push(size),
    snapshot: () =>
      new Promise<Snapshot>((resolve) => {
        const answer = (paint: string, nextSeq: number, size: GridSize = ROOM): void =>
          resolve({
            running: true,
            exitCode: null,
            streams: [],
            screen: {
              lines: [],
              cursor: { row: 0, col: 0 },
              complete: true,
              nextSeq,
              size,
              paint: new TextEncoder().encode(paint),
            },
          });
        snapshots.push({ answer });
      }),
    events: async function* () {
      for (;;) {
        while (events.length > 0) yield events.shift()!;
        await arrived.promise;
        arrived = createDeferred<void>();
      }
    },
    detach: async () => {},
  };
  return {
    host: { attachKept: async () => remote } as unknown as Host,
    snapshots,
    sizes,
    output: (seq: number, text: string): void => {
      events.push({ kind: "output", seq, stream: "pty", bytes: new TextEncoder().encode(text) });
      arrived.resolve();
    },
  };
}

function show(server: ReturnType<typeof fakeServer>) {
  const emulator = new headless.Terminal({ ...ROOM, allowProposedApi: true });
  const states: TerminalState["kind"][] = [];
  const session = new TerminalSession(server.host, emulator, {
    name: "t",
    mode: "control",
    room: ROOM,
    onState: ({ kind }) => states.push(kind),
  });
  void session.run();
  const text = (): string => {
    const { active } = emulator.buffer;
    return Array.from({ length: emulator.rows }, (_, row) =>
      active.getLine(active.baseY + row)!.translateToString(true),
    )
      .join("\n")
      .trim();
  };
  return { session, emulator, states, text };
}

/** Answers the first request for the screen, when it has come. */
async function answerNext(server: ReturnType<typeof fakeServer>, ...answer: [string, number, GridSize?]) {
  await vi.waitFor(() => expect(server.snapshots).toHaveLength(1), WAIT);
  server.snapshots.shift()!.answer(...answer);
}

it("output that comes while the screen is painted again for another size stays on it", async () => {
  const server = fakeServer();
  const { session, states, text } = show(server);
  await answerNext(server, "", 1);
  await vi.waitFor(() => expect(states).toContain("open"), WAIT);
  const wide = { cols: 30, rows: 4 };
  const sized = session.sizeIs(wide, performance.now());
  await vi.waitFor(() => expect(server.snapshots).toHaveLength(1), WAIT);
  // The server has looked at its screen before that, and answers after it.
  server.output(1, "$ ");
  await new Promise((resolve) => setTimeout(resolve));
  await answerNext(server, "", 1, wide);
  await sized;
  await vi.waitFor(() => expect(text()).toBe("$"), WAIT);
  await session.close();
});

it("a size that is known before the terminal is open is sent", async () => {
  const server = fakeServer();
  const { session, emulator, states } = show(server);
  await vi.waitFor(() => expect(server.snapshots).toHaveLength(1), WAIT);
  const wide = { cols: 30, rows: 6 };
  session.fit(wide);
  await answerNext(server, "", 1);
  await vi.waitFor(() => expect(states).toContain("open"), WAIT);
  await vi.waitFor(() => expect(server.sizes).toEqual([ROOM, wide]), WAIT);
  expect({ cols: emulator.cols, rows: emulator.rows }).toEqual(wide);
  await session.close();
});
