import { ConnectionError, type FileStat, type Host } from "../../../client/browser.ts";
import { visibleText } from "../../../base/visible-text.ts";
import { nameOf, parentOf } from "../../frame/paths.ts";
import { type Job, jobs } from "./job-queue.ts";
import { openSink, type Sink } from "./sink.ts";
import { withHost } from "./with-host.ts";

/** Downloads a file. Must be called by a click or a key, so that a large one can be written to the disk at once. */
export async function downloadFile(path: string, size: number): Promise<void> {
  const sink = await openSink(nameOf(path), size);
  if (sink === undefined) return;
  jobs.add(`Download ${visibleText(nameOf(path))}`, (job) => into(sink, () => readFile(job, path, sink)));
}

/** Downloads a directory as an archive, which a program on the server's machine creates. */
export async function downloadDirectory(path: string): Promise<void> {
  const name = `${nameOf(path) || "root"}.tar.gz`;
  const sink = await openSink(name, Number.POSITIVE_INFINITY);
  if (sink === undefined) return;
  jobs.add(`Download ${visibleText(name)}`, (job) =>
    into(sink, () => withHost(job.signal, (host) => pack(job, host, path, sink))),
  );
}

async function into(sink: Sink, work: () => Promise<void>): Promise<void> {
  try {
    await work();
    await sink.close();
  } catch (error) {
    await sink.abort();
    throw error;
  }
}

async function readFile(job: Job, path: string, sink: Sink): Promise<void> {
  const { signal } = job;
  let offset = 0;
  let before: FileStat | undefined;
  await withHost(signal, async ({ files }) => {
    const now = await files.stat(path, { signal });
    before ??= now;
    if (now.size !== before.size || now.modified.getTime() !== before.modified.getTime())
      throw new Error("the file changed during the download; download it again");
    job.report({ value: offset, max: now.size, unit: "bytes" });
    for await (const block of files.readStream(path, { offset, resume: true, signal })) {
      // Memory of the library is never shared.
      await sink.write(block as Uint8Array<ArrayBuffer>);
      offset += block.length;
      job.report({ value: offset, max: Math.max(now.size, offset), unit: "bytes" });
    }
  });
}

async function pack(job: Job, host: Host, path: string, sink: Sink): Promise<void> {
  const { signal } = job;
  let bytes = 0;
  let said = "";
  const argv = ["tar", "-cz", "-C", parentOf(path), "--", nameOf(path) || "."] as const;
  const process = await host.start(argv, { signal });
  const stop = (): void => void process.terminate().catch(() => {});
  signal.addEventListener("abort", stop);
  try {
    for await (const chunk of process.output({ signal })) {
      if (chunk.stream === "stderr") said = (said + new TextDecoder().decode(chunk.bytes)).slice(-2000);
      else {
        await sink.write(chunk.bytes.slice());
        bytes += chunk.bytes.length;
        job.report({ value: bytes, max: undefined, unit: "bytes" });
      }
    }
  } catch (error) {
    // The archive is incomplete, and packing cannot be continued.
    if (error instanceof ConnectionError) throw new Error(error.message, { cause: error });
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  const { exitCode } = await process.exited;
  // 1: files were changed while they were read; the archive is complete.
  if (exitCode !== 0 && exitCode !== 1)
    throw new Error(`tar ended with ${exitCode}: ${said.trim().split("\n").at(-1) ?? ""}`);
}
