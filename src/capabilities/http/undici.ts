import type { Client } from "undici";
import { CapabilityError } from "../../base/errors.ts";

export type UndiciClient = Client;
export type UndiciClientConstructor = typeof Client;

let loaded: Promise<UndiciClientConstructor> | undefined;

/**
 * Undici's single-connection client. Loaded at the first request, without the rest of the package, which takes four
 * times as long.
 */
export function loadClient(): Promise<UndiciClientConstructor> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<UndiciClientConstructor> {
  try {
    // @ts-expect-error Only the whole package has types.
    const loading = import("undici/lib/dispatcher/client.js") as Promise<{
      default: UndiciClientConstructor;
    }>;
    return (await loading).default;
  } catch (cause) {
    // The failure may be transient, such as too many open files.
    loaded = undefined;
    throw new CapabilityError("OS_ERROR", "the HTTP client cannot be loaded", { cause });
  }
}
