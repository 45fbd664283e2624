import { createDeferred } from "../../../base/deferred.ts";
import type { Host } from "../../../client/host/host.ts";
import type { ProcessEvent } from "../../../client/routes/process-events.ts";
import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import { complain } from "../print/complain.ts";
import { OutputWriter, openOutput } from "../running/output-stream.ts";
import type { LocalTerminal, WindowSize } from "./local-terminal.ts";
import { clearScreen, eraseStatusLine, leaveScreen, statusLine } from "./sequences.ts";

/** Short interruptions are not worth a notice. */
const NOTICE_AFTER_MS = 300;
const NOTICE = " connection lost, reconnecting (~. after Enter leaves) ";
const LOST_OUTPUT = "some output is missing here: the server no longer has it";

/**
 * Shows the output of a remote process here. If the screen cannot be continued, because output is missing or a notice
 * was written over it, it is painted again from the server's copy.
 */
export class RemoteScreen {
  readonly #terminal: LocalTerminal;
  readonly #host: Host;
  readonly #remote: RemoteProcess;
  readonly #output = new OutputWriter(openOutput(1));
  readonly #errors = new OutputWriter(openOutput(2));
  readonly #canPaint: boolean;
  /** Output before this number has already been painted. */
  #nextSeq = 0;
  #hasPainted = false;
  #notice: "none" | "pending" | "shown" = "none";
  #repaint = createDeferred<"repaint">();
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(terminal: LocalTerminal, host: Host, remote: RemoteProcess) {
    this.#terminal = terminal;
    this.#host = host;
    this.#remote = remote;
    this.#canPaint = remote.tty && terminal.isAddressable && host.supports("process/snapshot.paint");
  }

  /** Shows everything until the process has ended. */
  async follow({ paintFirst = false }: { paintFirst?: boolean } = {}): Promise<void> {
    const unlisten = this.#host.onStateChange(() => this.#connectionChanged());
    const events = this.#remote.events({ signal: this.#stop.signal, skipMissed: true });
    try {
      if (paintFirst && this.#canPaint) await this.#paint();
      let next = events.next();
      for (;;) {
        const first = await Promise.race([next, this.#repaint.promise]);
        if (first === "repaint") {
          await this.#paint();
        } else if (first.done === true) {
          return;
        } else if (!this.#stop.signal.aborted) {
          await this.#show(first.value);
          next = events.next();
        }
      }
    } finally {
      unlisten();
      clearTimeout(this.#timer);
      await events.return?.();
    }
  }

  /** Paints the screen again as soon as possible. */
  refresh(): void {
    if (this.#canPaint) this.#repaint.resolve("repaint");
  }

  /** Shows nothing more, and gives the local screen back. */
  async leave(): Promise<void> {
    this.#stop.abort();
    if (!this.#remote.tty || !this.#terminal.isAddressable) return;
    this.#notice = "none";
    await this.#write(leaveScreen());
  }

  async #show(event: ProcessEvent): Promise<void> {
    if (event.kind === "gap") await (this.#canPaint ? this.#paint() : complain(LOST_OUTPUT));
    if (event.kind !== "output" || event.seq < this.#nextSeq) return;
    await (event.stream === "stderr" ? this.#errors : this.#output).write(event.bytes);
  }

  async #paint(): Promise<void> {
    this.#repaint = createDeferred();
    const { screen } = await this.#remote.snapshot({ maxBytes: 0, paint: true });
    const { size } = this.#terminal;
    if (this.#stop.signal.aborted) return;
    if (screen?.paint === undefined || screen.nextSeq === undefined || size === undefined) return;
    this.#nextSeq = screen.nextSeq;
    await this.#write(this.#clear(size));
    await this.#output.write(screen.paint);
  }

  #clear(size: WindowSize): string {
    const erased = this.#withoutNotice(size);
    const keep = !this.#hasPainted;
    this.#hasPainted = true;
    return erased + clearScreen(size, { keep });
  }

  #withoutNotice(size: WindowSize): string {
    const isShown = this.#notice === "shown";
    this.#notice = "none";
    return isShown ? eraseStatusLine(size) : "";
  }

  #connectionChanged(): void {
    if (!this.#canPaint) return;
    if (this.#host.state === "recovering" && this.#notice === "none") {
      this.#notice = "pending";
      this.#timer = setTimeout(() => this.#showNotice(), NOTICE_AFTER_MS);
    } else if (this.#host.state === "connected") {
      clearTimeout(this.#timer);
      if (this.#notice === "shown") this.refresh();
      else this.#notice = "none";
    }
  }

  #showNotice(): void {
    const { size } = this.#terminal;
    if (size === undefined || this.#stop.signal.aborted) return;
    this.#notice = "shown";
    // A missing reader is reported by the next output.
    this.#write(statusLine(size, NOTICE)).catch(() => {});
  }

  #write(text: string): Promise<void> {
    return this.#output.write(Buffer.from(text));
  }
}
