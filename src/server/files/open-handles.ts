import { FileHandles } from "../../capabilities/files/file-handles.ts";
import type { FileClient } from "./file-client.ts";

const handles = new WeakMap<FileClient, FileHandles>();

/** The open files of a connection. Unlike processes, they end with it. */
export function handlesOf(client: FileClient): FileHandles {
  let found = handles.get(client);
  if (found === undefined) {
    const created = new FileHandles();
    client.signal.addEventListener("abort", () => created.closeAll(), { once: true });
    handles.set(client, created);
    found = created;
  }
  return found;
}
