import type { Desk } from "./desk.ts";
import { shell } from "./scenes/shell.ts";

/** Somebody at a desk; returns what the screens show in the end, or at the moments that matter. */
export type Scene = (desk: Desk) => Promise<readonly string[]>;

/** What the page shows besides lines that are typed one after another. */
export const SCENES: Readonly<Record<string, Scene>> = { shell };
