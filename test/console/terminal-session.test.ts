import { randomUUID } from "node:crypto";
import headless from "@xterm/headless";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import type { Host } from "../../src/client/host/host.ts";
import {
  TerminalSession,
  type TerminalSessionOptions,
  type TerminalState,
  type TerminalSurface,
} from "../../src/console/terminals/terminal-session.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";

// What a page shows of kept terminals, without a browser: the emulator is the same without its face.

const ROOM = { cols: 60, rows: 10 };

let server: ListeningServer;
let host: Host;

beforeAll(async () => {
  server = await serve({ environment: { PATH: process.env["PATH"], PS1: "" } });
  host = await connect(server.url);
});

afterAll(async () => {
  await host?.close();
  await server?.close();
});

/** Starts a script on a kept terminal without attached clients. */
async function kept(script: string): Promise<string> {
  const name = randomUUID();
  const started = await host.terminal(["sh", "-c", script], { keep: name, ...ROOM });
  await started.detach();
  return name;
}

class Shown implements AsyncDisposable {
  readonly emulator = new headless.Terminal({ ...ROOM, allowProposedApi: true, scrollback: 300_000 });
  readonly session: TerminalSession;
  readonly states: TerminalState[] = [];
  readonly running: Promise<void>;

  constructor(
    name: string,
    {
      surface,
      client = host,
      ...options
    }: Partial<TerminalSessionOptions> & {
      surface?: (emulator: TerminalSurface) => TerminalSurface;
      client?: Host;
    } = {},
  ) {
    this.session = new TerminalSession(client, surface?.(this.emulator) ?? this.emulator, {
      name,
      mode: "control",
      room: ROOM,
      onState: (state) => this.states.push(state),
      ...options,
    });
    this.emulator.onData((data) => this.session.input(data));
    this.running = this.session.run();
  }

  /** Everything from the oldest line on. */
  get lines(): string[] {
    return this.#linesFrom(0);
  }

  #linesFrom(first: number): string[] {
    const { active } = this.emulator.buffer;
    // A painted screen leaves out trailing blanks, which are invisible.
    const row = (index: number): string =>
      active
        .getLine(first + index)!
        .translateToString(true)
        .trimEnd();
    return Array.from({ length: active.length - first }, (_, index) => row(index));
  }

  get text(): string {
    return this.lines.join("\n");
  }

  async has(text: string | RegExp): Promise<void> {
    const last = (): string =>
      this.#linesFrom(Math.max(0, this.emulator.buffer.active.length - 300)).join("\n");
    const shown = expect.poll(last);
    await (typeof text === "string" ? shown.toContain(text) : shown.toMatch(text));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.session.close();
    this.emulator.dispose();
  }
}

test("who comes later sees what was above the screen, and the screen", async () => {
  const name = await kept("seq 1 200; printf 'name? '; read line; echo got $line; read line");
  await using early = new Shown(name);
  await early.has("name?");
  await using late = new Shown(name);
  await late.has("name?");
  // What was above the screen is written first, and may show it already.
  await expect.poll(() => late.lines).toEqual(early.lines);
  expect(late.lines.slice(0, 3)).toEqual(["1", "2", "3"]);
  late.session.input("Ann\r");
  for (const shown of [late, early]) await shown.has(/^got Ann\n/m);
  expect(late.lines).toEqual(early.lines);
});

test("a program on the alternate screen is shown as it is, and what was before it when it leaves", async () => {
  const draw =
    "printf '\\033[?1049h\\033[2J\\033[5;5Hdrawn'; read line; printf '\\033[?1049l'; echo after; read line";
  const name = await kept(`seq 1 30; ${draw}`);
  await using shown = new Shown(name);
  await shown.has("    drawn");
  expect(shown.emulator.buffer.active.type).toBe("alternate");
  shown.session.input("\r");
  await shown.has("after");
  expect(shown.emulator.buffer.active.type).toBe("normal");
  expect(shown.lines.slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, index) => `${index + 1}`));
});

test("what is typed while a terminal is being opened arrives, and nothing of it where one only looks", async () => {
  const name = await kept("read line; echo got $line; read line");
  await using looking = new Shown(name, { mode: "follow" });
  looking.session.input("Eve\r");
  await expect.poll(() => looking.states.at(-1)?.kind).toBe("open");
  await using shown = new Shown(name);
  shown.session.input("An");
  shown.session.input("n\r");
  expect(shown.session.state.kind).toBe("opening");
  await shown.has("got Ann");
});

test("questions of programs in old output are not answered a second time", async () => {
  const ask = "stty -echo -icanon min 1; printf '\\033[6n'; dd bs=1 count=6 2>/dev/null | od -An -c";
  const name = await kept(`read line; ${ask}; echo asked; read line; echo "rest: $line"`);
  await using first = new Shown(name);
  await expect.poll(() => first.states.at(-1)?.kind).toBe("open");
  first.session.input("\r");
  await first.has("asked");
  await using second = new Shown(name);
  await second.has("asked");
  second.session.input("end\n");
  await second.has("rest: end");
});

test("output that is too much to be shown is left out, the screen is right, and little waits for it", async () => {
  const name = await kept("read line; seq 1 400000; echo the end; read line");
  let waiting = 0;
  let most = 0;
  let isHeld = true;
  const held: (() => void)[] = [];
  const surface = (emulator: TerminalSurface): TerminalSurface => ({
    get cols() {
      return emulator.cols;
    },
    get rows() {
      return emulator.rows;
    },
    resize: (cols, rows) => emulator.resize(cols, rows),
    write: (data, parsed) => {
      waiting += data.length;
      most = Math.max(most, waiting);
      emulator.write(data, () => {
        const done = (): void => {
          waiting -= data.length;
          parsed?.();
        };
        if (isHeld) held.push(done);
        else done();
      });
    },
  });
  await using shown = new Shown(name, { surface });
  await expect.poll(() => shown.states.at(-1)?.kind).toBe("open");
  shown.session.input("\r");
  const listed = async () => (await host.processes({ scope: "kept" })).find((one) => one.name === name);
  await expect.poll(async () => (await listed())?.outputBytes).toBeGreaterThan(2_600_000);
  isHeld = false;
  for (const done of held) done();
  await shown.has("the end");
  expect(most).toBeLessThan(600_000);
  expect(shown.text).toContain("some output is missing here");
  expect(shown.lines.slice(-ROOM.rows)).toEqual([
    ...Array.from({ length: ROOM.rows - 2 }, (_, row) => `${400_000 - ROOM.rows + 3 + row}`),
    "the end",
    "",
  ]);
});

test("who only follows cannot type, and has the size of the others", async () => {
  const name = await kept("while read line; do stty size; done");
  await using typist = new Shown(name, { room: { cols: 70, rows: 12 } });
  await expect.poll(() => typist.states.at(-1)?.kind).toBe("open");
  typist.session.input("\r");
  await typist.has("12 70");
  await using reader = new Shown(name, { mode: "follow" });
  await reader.has("12 70");
  expect([reader.emulator.cols, reader.emulator.rows]).toEqual([70, 12]);
  expect(reader.session.isForeignSize).toBe(true);
  reader.session.input("\r");
  await reader.session.send("\r\r");
  typist.session.input("last\r");
  await typist.has(/^last\n12 70\n/m);
  expect(typist.text.match(/12 70/g)).toHaveLength(2);
});

test("the window has the size of the last typist, and everybody shows it in that size", async () => {
  const name = await kept("while read line; do stty size; done");
  await using client = await connect(server.url);
  await using small = new Shown(name, { room: { cols: 40, rows: 8 } });
  await expect.poll(() => small.states.at(-1)?.kind).toBe("open");
  await using large = new Shown(name, { client, room: { cols: 90, rows: 20 } });
  await expect.poll(() => large.states.at(-1)?.kind).toBe("open");
  small.session.input("\r");
  await small.has("8 40");
  const askedMs = performance.now();
  const size = (await host.processes({ scope: "kept" })).find((one) => one.name === name)!.terminalSize!;
  expect(size).toEqual({ cols: 40, rows: 8 });
  await large.session.sizeIs(size, askedMs);
  expect([large.emulator.cols, large.emulator.rows, large.session.isForeignSize]).toEqual([40, 8, true]);
  large.session.input("\r");
  await large.has("20 90");
  expect([large.emulator.cols, large.emulator.rows, large.session.isForeignSize]).toEqual([90, 20, false]);
});

test("the end of the process, and its status", async () => {
  const name = await kept("read line; echo bye; exit 3");
  await using shown = new Shown(name);
  await expect.poll(() => shown.states.at(-1)?.kind).toBe("open");
  shown.session.input("\r");
  await shown.running;
  expect(shown.states.at(-1)).toMatchObject({ kind: "ended", report: { exitCode: 3 } });
  await shown.has("bye");
  await using later = new Shown(name);
  await later.running;
  expect(later.states.at(-1)).toMatchObject({ kind: "ended", report: { exitCode: 3 } });
  await later.has("bye");
  await later.session.forget();
  await using gone = new Shown(name);
  await gone.running;
  expect(gone.states).toEqual([{ kind: "missing" }]);
});

test("a process on pipes is not shown", async () => {
  const name = randomUUID();
  await host.start(["cat"], { keep: name, stdin: "pipe" });
  await using shown = new Shown(name);
  await shown.running;
  expect(shown.states).toEqual([{ kind: "unsuitable" }]);
});

test("the end of the session with the server is said", async () => {
  const name = await kept("cat");
  const client = await connect(server.url);
  await using shown = new Shown(name, { client });
  await expect.poll(() => shown.states.at(-1)?.kind).toBe("open");
  await client.close();
  await shown.running;
  expect(shown.states.at(-1)).toEqual({ kind: "lost" });
});

test("a size that no screen can have is shown as far as an emulator goes", async () => {
  const name = await kept("read line");
  const sizes: [cols: number, rows: number][] = [];
  const surface = (emulator: TerminalSurface): TerminalSurface => ({
    ...ROOM,
    resize: (cols, rows) => sizes.push([cols, rows]),
    write: (data, parsed) => emulator.write(data, parsed),
  });
  await using shown = new Shown(name, { surface });
  await expect.poll(() => shown.states.at(-1)?.kind).toBe("open");
  await shown.session.sizeIs({ cols: 65_535, rows: 65_535 }, performance.now());
  expect(sizes).toEqual([[1000, 300]]);
});

test("a program that asks and does not read the answers gets few of them", async () => {
  const questions = "yes \"$(printf '\\033[c\\033[c\\033[c')\" | head -c 200000";
  const name = await kept(`stty raw -echo; head -c 1; ${questions}; echo done; sleep 600`);
  await using shown = new Shown(name);
  await expect.poll(() => shown.states.at(-1)?.kind).toBe("open");
  let most = 0;
  shown.emulator.onWriteParsed(() => {
    most = Math.max(most, shown.session.unsent);
  });
  shown.session.input("g");
  await shown.has("done");
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(8192);
});
