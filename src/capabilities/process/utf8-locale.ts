import { hasLocale } from "../../native/locale.ts";
import type { Environment } from "./env-policy.ts";

const UTF8_LOCALE = "C.UTF-8";
const CHARACTER_VARIABLES = ["LC_ALL", "LC_CTYPE", "LANG"] as const;

let exists: boolean | undefined;

/** The environment; with a UTF-8 locale if it names none, since shells then take every byte for a character. */
export function withUtf8Locale(environment: Environment): Environment {
  if (CHARACTER_VARIABLES.some((name) => environment[name])) return environment;
  exists ??= hasLocale(UTF8_LOCALE);
  return exists ? { ...environment, LANG: UTF8_LOCALE } : environment;
}
