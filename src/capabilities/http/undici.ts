import type { Client } from "undici";

export type UndiciClient = Client;
export type UndiciClientConstructor = typeof Client;

let loaded: Promise<UndiciClientConstructor> | undefined;

/** Undici's client of one connection. Loaded at the first request, without the rest of the package, which takes four times as long. */
export function loadClient(): Promise<UndiciClientConstructor> {
  loaded ??= import("undici/lib/dispatcher/client.js").then(({ default: constructor }) => constructor);
  return loaded;
}
