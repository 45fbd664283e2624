import type { RemoteProcess } from "../../../client/process/remote-process.ts";
import type { LocalTerminal } from "../terminal/local-terminal.ts";
import type { CastWriter } from "./cast-file.ts";

/**
 * Records the output of a process on a terminal, and the sizes of the terminal, until the process has ended or the
 * signal is aborted.
 */
export async function recordProcess(
  writer: CastWriter,
  remote: RemoteProcess,
  { terminal, signal }: { readonly terminal: LocalTerminal; readonly signal: AbortSignal },
): Promise<void> {
  // A character may be divided between two pieces.
  const decoder = new TextDecoder();
  let sizeChange = Promise.resolve();
  const unlisten = terminal.onResize(() => {
    const { size } = terminal;
    if (size !== undefined)
      sizeChange = sizeChange.then(() => writer.event("r", `${size.cols}x${size.rows}`)).catch(() => {});
  });
  try {
    for await (const { bytes } of remote.output({ signal, onGap: () => {} })) {
      const text = decoder.decode(bytes, { stream: true });
      if (text !== "") await writer.event("o", text);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    unlisten();
    await sizeChange;
    await writer.end();
  }
}
