import type { ChildPipes } from "../../../../../transport/prepared-child.ts";
import { ConnectionError } from "../../../../../base/errors.ts";
import { printable } from "../../../print/printable.ts";
import { Failure } from "../../../../shared/failure.ts";
import { INSTALL_COMMAND } from "../../../../shared/install-command.ts";
import type { Bundle } from "./bundle.ts";
import { type Executable, MACHINES, packExecutable } from "./executables.ts";
import { MARK } from "./remote-script.ts";

/** What a login shell may print of its own, and a machine may say about itself. */
const MAX_PREAMBLE_BYTES = 262_144;
const MAX_LINE_BYTES = 8_192;
const PIECE_BYTES = 16_384;
const NEWLINE = 10;
/** Oldest glibc that a single executable runs with. */
const GLIBC = [2, 28] as const;

/** Ends the error of a command that has ended without a word of the script. */
export const NO_SHELL = "; its shell has not answered";

/** What happens on the way to a server, as it happens. */
export type Step =
  | { readonly kind: "shell" | "installed" }
  | { readonly kind: "machine" | "node" | "no" | "dir" | "ready"; readonly text: string }
  | { readonly kind: "sending"; readonly sent: number; readonly total: number };

interface Conversation {
  /** The user's name for the host. */
  readonly name: string;
  readonly nonce: string;
  readonly bundle: Bundle;
  /** By what `uname -m` says. */
  readonly executables: ReadonlyMap<string, Executable>;
  readonly signal: AbortSignal;
  readonly onStep: (step: Step) => void;
}

/**
 * Speaks with the script on the other machine until the server there reads from stdin, and brings it if necessary. After
 * that, stdout has nothing but the server's messages. Nothing is sent before the other side has asked for it, because a
 * shell may read ahead, and eat what is not meant for it.
 */
export async function converse(pipes: ChildPipes, conversation: Conversation): Promise<void> {
  const { name, signal, onStep } = conversation;
  const lines = new MarkedLines(pipes, conversation.nonce, signal);
  const facts = new Map<string, string>();
  const refusals: string[] = [];
  /** Each is asked for once, whatever the other side says. */
  const asked = new Set<string>();
  let load: Load | undefined;
  let hasShell = false;
  // The command may end without reading; stdout then says so.
  const ignore = (): void => {};
  pipes.stdin.on("error", ignore);
  try {
    for (;;) {
      const [word, text] = await lines.next();
      if (word === "need" || word === "send") {
        if (asked.has(word)) continue;
        asked.add(word);
      }
      switch (word) {
        case "shell":
          hasShell = true;
          onStep({ kind: word });
          break;
        case "installed":
          onStep({ kind: word });
          return;
        case "no":
          refusals.push(text);
          onStep({ kind: word, text });
          break;
        case "gzip":
          facts.set(word, "");
          break;
        case "machine":
        case "node":
        case "dir":
          facts.set(word, text);
          onStep({ kind: word, text });
          break;
        case "ready":
          onStep({ kind: word, text });
          return;
        case "nowhere":
          throw new Failure(
            `cannot bring exec-server to '${name}', which has no directory for it: ${refusals.map(printable).join("; ")}; free or name one there with XDG_CACHE_HOME, or install it there with '${INSTALL_COMMAND}'`,
          );
        case "need":
          load = await prepareLoad(conversation, facts);
          pipes.stdin.write(`${load.answer}\n`);
          break;
        case "send":
          if (load !== undefined) await send(pipes, load.bytes, conversation);
          break;
        case "failed":
          throw new Failure(`cannot bring exec-server to '${name}': ${printable(text)}${remedy(text)}`);
        default:
      }
    }
  } catch (error) {
    if (hasShell || !(error instanceof ConnectionError)) throw error;
    throw new ConnectionError(`${error.message}${NO_SHELL}`);
  } finally {
    pipes.stdin.off("error", ignore);
    lines.close();
  }
}

function remedy(text: string): string {
  if (/ENOSPC|EDQUOT|no space/i.test(text))
    return "; free some space there, or name another directory there with XDG_CACHE_HOME";
  return "";
}

/** What is sent: an answer to the script, and, when it is ready, the bytes that it has been told of. */
interface Load {
  readonly answer: string;
  readonly bytes: Buffer;
}

/** The bundle for a machine with Node, otherwise a single executable. What the other machine says is only compared. */
async function prepareLoad(
  { name, nonce, bundle, executables }: Conversation,
  facts: ReadonlyMap<string, string>,
): Promise<Load> {
  const [system = "", machine = "", libc = "", libcVersion = ""] = facts.get("machine")?.split(" ") ?? [];
  const fail = (reason: string): Failure =>
    new Failure(
      `cannot bring exec-server to '${name}': ${reason}, or install exec-server there with '${INSTALL_COMMAND}'`,
    );
  if (system !== "Linux")
    throw new Failure(
      `cannot bring exec-server to '${name}': it serves only on Linux, not on ${printable(system)}`,
    );
  const node = facts.get("node");
  const hasNode = isAtLeast(node, [20, 19]);
  if (hasNode && MACHINES.get(machine) === bundle.arch) {
    const { bytes, sha256 } = bundle.payload();
    const settings = JSON.stringify({ nonce, name: bundle.name, bytes: bytes.length, sha256 });
    const program = Buffer.from(`const BUNDLE=${settings};${bundle.receiver()}`);
    return { answer: `node ${program.toString("base64")}`, bytes };
  }
  const executable = executables.get(machine);
  if (executable === undefined) {
    if (hasNode)
      throw fail(`this machine is ${bundle.arch}, and that one ${printable(machine)}; ${MAKE_FILE}`);
    const older = node === undefined ? "" : `, and ${printable(node)} is older`;
    throw fail(`it needs Node 20.19 or later there${older}; install Node, ${MAKE_FILE}`);
  }
  // Where it is unknown, trying shows it.
  if (libc === "musl" || (libc === "glibc" && !isAtLeast(libcVersion, GLIBC)))
    throw fail(`without Node 20.19 or later it needs glibc 2.28 there; install Node`);
  const compress = facts.has("gzip");
  const { bytes, length } = await packExecutable(executable, compress);
  const how = compress ? "gzip" : "plain";
  return { answer: `file ${bytes.length} ${length} ${executable.sha256} ${how}`, bytes };
}

const MAKE_FILE = "name a directory with the single executable in EXEC_SERVER_BINARIES";

function isAtLeast(version: string | undefined, [major, minor]: readonly [number, number]): boolean {
  const [, first, second] = /^(\d{1,4})\.(\d{1,4})(?:\.|$)/.exec(version ?? "") ?? [];
  return Number(first) > major || (Number(first) === major && Number(second) >= minor);
}

async function send({ stdin }: ChildPipes, bytes: Buffer, { signal, onStep }: Conversation): Promise<void> {
  const total = bytes.length;
  for (let sent = 0; sent < total; ) {
    const piece = bytes.subarray(sent, sent + PIECE_BYTES);
    // Resolves when the system has taken it. What the other side makes of it, it says itself.
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      stdin.write(piece, () => {
        signal.removeEventListener("abort", abort);
        resolve();
      });
    });
    if (stdin.destroyed) return;
    sent += piece.length;
    onStep({ kind: "sending", sent, total });
  }
}

/** The lines of stdout that begin with the mark. A login shell may print others, and the server prints none of these. */
class MarkedLines {
  readonly #pipes: ChildPipes;
  readonly #mark: string;
  readonly #signal: AbortSignal;
  #rest = Buffer.alloc(0);
  #length = 0;
  /** For an error: what was printed last. */
  #otherLine = "";

  constructor(pipes: ChildPipes, nonce: string, signal: AbortSignal) {
    this.#pipes = pipes;
    this.#mark = `${MARK}${nonce} `;
    this.#signal = signal;
  }

  /** The next word, and what follows it. Rejects if the command ends, or prints too much. */
  async next(): Promise<[word: string, text: string]> {
    for (;;) {
      for (let end = this.#rest.indexOf(NEWLINE); end >= 0; end = this.#rest.indexOf(NEWLINE)) {
        const line = this.#rest.subarray(0, end).toString().trimEnd();
        this.#rest = this.#rest.subarray(end + 1);
        const at = line.indexOf(this.#mark);
        if (at >= 0) {
          const marked = line.slice(at + this.#mark.length);
          const [word = ""] = marked.split(" ", 1);
          return [word, marked.slice(word.length + 1)];
        }
        if (line.trim() !== "") this.#otherLine = line.slice(0, MAX_LINE_BYTES);
      }
      const chunk = await this.#read();
      this.#length += chunk.length;
      this.#rest = Buffer.concat([this.#rest, chunk]);
      if (this.#length > MAX_PREAMBLE_BYTES || this.#rest.length > MAX_PREAMBLE_BYTES)
        throw new ConnectionError("it prints without end instead of starting exec-server");
    }
  }

  /** What follows the last line belongs to the server. */
  close(): void {
    if (this.#rest.length > 0 && !this.#pipes.stdout.readableEnded) this.#pipes.stdout.unshift(this.#rest);
  }

  #read(): Promise<Buffer> {
    const { stdout, explainEnd } = this.#pipes;
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        stdout.off("readable", readable);
        stdout.off("end", ended);
        stdout.off("close", ended);
        this.#signal.removeEventListener("abort", abort);
        act();
      };
      const readable = (): void => {
        const chunk = stdout.read() as Buffer | null;
        if (chunk !== null) settle(() => resolve(chunk));
      };
      const ended = (): void =>
        settle(() => {
          const said = this.#otherLine === "" ? "" : `: ${printable(this.#otherLine)}`;
          explainEnd().then(
            (reason) => reject(new ConnectionError(`${reason ?? "it closed its output"}${said}`)),
            reject,
          );
        });
      const abort = (): void => settle(() => reject(this.#signal.reason as Error));
      stdout.on("readable", readable);
      stdout.on("end", ended);
      stdout.on("close", ended);
      this.#signal.addEventListener("abort", abort);
      if (this.#signal.aborted) abort();
      else readable();
    });
  }
}
