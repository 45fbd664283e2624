import { open } from "node:fs/promises";
import { describeFileError } from "../describe-file-error.ts";
import { Failure } from "../failure.ts";
import { print } from "../print/output.ts";

/** Where the body of an answer goes. */
export interface Destination {
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** Stdout, or a file of this machine. */
export async function openDestination(path: string | undefined): Promise<Destination> {
  if (path === undefined || path === "-") return { write: print, close: async () => {} };
  const failed = (error: unknown): Failure =>
    new Failure(`cannot write ${path}: ${describeFileError(error)}`);
  const file = await open(path, "w").catch((error: unknown) => {
    throw failed(error);
  });
  return {
    write: async (bytes) => {
      await file.writeFile(bytes).catch((error: unknown) => {
        throw failed(error);
      });
    },
    close: () => file.close(),
  };
}
